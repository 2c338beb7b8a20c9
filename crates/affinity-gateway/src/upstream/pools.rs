//! All connections: over HTTP/1.1 by endpoint, over HTTP/2 by protocol and then by endpoint.

use std::{net::SocketAddr, sync::Arc};

use arc_swap::ArcSwap;
use http_body::Body;
use tower_affinity::core::GroupName;

use super::{
    EndpointProtocol, UpstreamOptions, dial::Dialer, multiplexed::Multiplexed, slot::Slot,
};
use crate::serve::Tunnels;

/// What all endpoints share.
pub(super) struct Shared<B> {
    pub(super) options: UpstreamOptions,
    pub(super) tunnels: Tunnels,
    /// Opens connections that speak HTTP/1.1.
    pub(super) http1: Dialer,
    http2: Vec<Http2<B>>,
}

/// The connections of one protocol over HTTP/2.
pub(super) struct Http2<B> {
    protocol: EndpointProtocol,
    pub(super) is_secure: bool,
    pub(super) connections: Multiplexed<B>,
}

impl<B> Shared<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    pub(super) fn new(options: UpstreamOptions, tunnels: Tunnels) -> Self {
        let mut http2: Vec<Http2<B>> = Vec::new();
        let spoken = options.groups.values().chain([&options.protocol]);
        for &protocol in spoken.filter(|protocol| protocol.is_http2()) {
            if http2.iter().all(|known| known.protocol != protocol) {
                let dialer = Dialer::new(&options, protocol);
                http2.push(Http2 {
                    protocol,
                    is_secure: dialer.is_secure(),
                    connections: Multiplexed::new(dialer, options.connect_timeout),
                });
            }
        }
        Self {
            http1: Dialer::new(&options, EndpointProtocol::Http1),
            http2,
            options,
            tunnels,
        }
    }
}

impl<B> Shared<B> {
    /// Whether any group's endpoints do, so that the group of a request is of interest.
    pub(super) fn speaks_http2(&self) -> bool {
        !self.http2.is_empty()
    }

    /// The HTTP/2 connections for the endpoints of `group`; `None` if they speak HTTP/1.1.
    pub(super) fn http2<'a>(
        &self,
        group: impl FnOnce() -> Option<&'a GroupName>,
    ) -> Option<&Http2<B>> {
        if !self.speaks_http2() {
            return None;
        }
        let own = group().and_then(|group| self.options.groups.get(group));
        let protocol = own.unwrap_or(&self.options.protocol);
        self.http2.iter().find(|known| known.protocol == *protocol)
    }
}

/// The endpoints that were asked for, in the order of their addresses: they are looked up for each
/// request and seldom change.
pub(super) struct Slots<B>(ArcSwap<Vec<(SocketAddr, Arc<Slot<B>>)>>);

impl<B> Slots<B> {
    pub(super) fn new() -> Self {
        Self(ArcSwap::default())
    }

    pub(super) fn of(&self, address: SocketAddr, shared: &Arc<Shared<B>>) -> Arc<Slot<B>> {
        if let Some(known) = find(&self.0.load(), address) {
            return known;
        }
        let new = Arc::new(Slot::new(address, shared));
        self.0.rcu(|all| {
            let mut all = Vec::clone(all);
            if find(&all, address).is_none() {
                // those that are of no use to anybody: only the old list and its copy know them
                all.retain(|(_, slot)| Arc::strong_count(slot) > 2 || !slot.is_empty());
                let at = all.partition_point(|(known, _)| *known < address);
                all.insert(at, (address, Arc::clone(&new)));
            }
            all
        });
        find(&self.0.load(), address).unwrap_or(new)
    }
}

fn find<B>(all: &[(SocketAddr, Arc<Slot<B>>)], address: SocketAddr) -> Option<Arc<Slot<B>>> {
    let at = all.binary_search_by_key(&address, |(known, _)| *known);
    let (_, slot) = all.get(at.ok()?)?;
    Some(Arc::clone(slot))
}
