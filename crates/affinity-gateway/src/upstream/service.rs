//! The pool of connections, and the service of one endpoint.

use std::{
    borrow::Cow,
    fmt,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Extensions, Request, Response};
use http_body::Body;
use hyper::{ext::Protocol, upgrade::OnUpgrade};
use tokio::time::Instant;
use tower_affinity::{balance::Lease, core::GroupName};
use tower_service::Service;

use super::{
    AnswerBody, ResponseFuture, UpstreamError, UpstreamOptions,
    body::Forwarded,
    deadline::Deadline,
    future::Exchange,
    interim,
    link::Head,
    pools::{Shared, Slots},
    request::{Target, prepare},
    slot::Slot,
    told::Told,
    tunnel::Handover,
};
use crate::serve::Tunnels;

/// All connections to endpoints. A clone is another handle to the same pool.
///
/// A request goes out in the protocol of its group, which the request's
/// [`Lease`](tower_affinity::balance::Lease) names, with the client's `Host` or authority.
/// Hop-by-hop fields end here, but never names that begin with `affinity-`; the peer's address
/// becomes `X-Forwarded-For`; split cookies of HTTP/2 are joined for HTTP/1.1. The answer comes
/// back whole but for its hop-by-hop fields.
///
/// HTTP/1.1 carries only those trailers that a `Trailer` field announces, and to a client only if
/// it sent `TE: trailers`; others end here. HTTP/2 carries all.
///
/// A WebSocket can be asked for and served in either version, whatever the other side speaks.
pub struct Upstream<B> {
    shared: Arc<Shared<Forwarded<B>>>,
    slots: Arc<Slots<Forwarded<B>>>,
}

/// Sends requests to one endpoint; made by [`Upstream::endpoint`].
pub struct EndpointService<B> {
    slot: Arc<Slot<Forwarded<B>>>,
    group: Option<GroupName>,
    /// What was read of the extensions of the one request that it is for.
    told: Option<Told>,
}

impl<B> EndpointService<B> {
    /// Names the group for requests that have no lease, such as health checks.
    #[must_use]
    pub fn group(self, group: GroupName) -> Self {
        Self {
            group: Some(group),
            ..self
        }
    }

    /// The service for one attempt, and the extensions with which it takes the request: none, since
    /// they are read here. Only a tunnel needs them for as long as it lasts.
    pub(crate) fn attempt(
        self,
        lease: &Lease,
        extensions: Cow<'_, Extensions>,
    ) -> (Self, Extensions) {
        if extensions.get::<OnUpgrade>().is_some() {
            let mut extensions = extensions.into_owned();
            extensions.insert(lease.clone());
            return (self, extensions);
        }
        let speaks_http2 = self.slot.shared.speaks_http2();
        let group = speaks_http2.then(|| lease.group().clone());
        let service = Self {
            group: group.or(self.group),
            told: Some(Told::by(&extensions)),
            ..self
        };
        (service, Extensions::new())
    }
}

impl<B> Upstream<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Empty pools. Upgraded connections are handed to `tunnels`.
    #[must_use]
    pub fn new(options: UpstreamOptions, tunnels: Tunnels) -> Self {
        Self {
            shared: Arc::new(Shared::new(options, tunnels)),
            slots: Arc::new(Slots::new()),
        }
    }
}

impl<B> Upstream<B> {
    /// The service of the endpoint at `address`. Cheap: it shares the pool.
    #[must_use]
    pub fn endpoint(&self, address: SocketAddr) -> EndpointService<B> {
        EndpointService {
            slot: self.slots.of(address, &self.shared),
            group: None,
            told: None,
        }
    }
}

impl<B> Service<Request<B>> for EndpointService<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<AnswerBody>;
    type Error = UpstreamError;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let shared = &self.slot.shared;
        let (mut parts, body) = request.into_parts();
        let http2 = shared.http2(|| {
            let lease = parts.extensions.get().map(Lease::group);
            lease.or(self.group.as_ref())
        });
        let target = Target {
            endpoint: self.slot.address,
            http2: http2.is_some(),
            secure: http2.is_some_and(|http2| http2.is_secure),
        };
        let options = &shared.options;
        let limits = options.limits.of(parts.uri.path());
        let told = self.told.take();
        let told = told.unwrap_or_else(|| Told::by(&parts.extensions));
        let prepared = prepare(&mut parts, &body, target, &told, &options.trusted_proxies);
        let switch = match prepared {
            Ok(switch) => switch,
            Err(error) => return ResponseFuture::refused(error),
        };
        let limits = limits.after(told.elapsed);
        let protocol = match target.http2 {
            true => parts.extensions.remove::<Protocol>(),
            false => None,
        };
        let handover = switch.map(|switch| {
            let held = std::mem::take(&mut parts.extensions);
            Box::new(Handover::new(switch, held, shared.tunnels.clone()))
        });
        // what is in them is not for the endpoint
        parts.extensions = Extensions::new();
        if let Some(protocol) = protocol {
            parts.extensions.insert(protocol);
        }
        let now = Instant::now();
        let (body, upload) = Forwarded::new(body, !target.http2, now);
        let mut request = Request::from_parts(parts, body);
        if let Some(interim) = told.interim
            && !target.http2
        {
            interim::pass_on(&mut request, interim);
        }
        let head = match http2 {
            Some(http2) => Head::apart(http2.connections.send(target.endpoint, request)),
            None => Arc::clone(&self.slot).send(now, request),
        };
        ResponseFuture::sent(Exchange {
            head,
            deadline: Deadline::new(now, &limits, upload),
            idle: limits.idle,
            handover,
            timeouts: Arc::clone(&self.slot.timeouts),
        })
    }
}

impl<B> Clone for Upstream<B> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            slots: Arc::clone(&self.slots),
        }
    }
}

impl<B> Clone for EndpointService<B> {
    fn clone(&self) -> Self {
        Self {
            slot: Arc::clone(&self.slot),
            group: self.group.clone(),
            told: self.told.clone(),
        }
    }
}

impl<B> fmt::Debug for Upstream<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("options", &self.shared.options)
            .field("tunnels", &self.shared.tunnels.len())
            .finish_non_exhaustive()
    }
}

impl<B> fmt::Debug for EndpointService<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointService")
            .field("address", &self.slot.address)
            .finish_non_exhaustive()
    }
}
