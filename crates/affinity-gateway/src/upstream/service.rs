//! The pool of connections, and the service of one endpoint.

use std::{
    fmt,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use http_body::Body;
use hyper::ext::Protocol;
use tower_affinity::{
    balance::{Again, Lease},
    core::GroupName,
    respond::UpstreamFault,
};
use tower_service::Service;

use super::{
    AnswerBody, EndpointProtocol, ResponseFuture, UpstreamError, UpstreamOptions,
    body::{Forwarded, Progress},
    deadline::Deadline,
    interim,
    pool::Pool,
    request::{Prepared, Target, prepare},
    tunnel::Handover,
};
use crate::serve::{Interim, Tunnels};

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
    pools: Arc<Pools<B>>,
    options: Arc<UpstreamOptions>,
    tunnels: Tunnels,
}

/// One pool for each protocol in use.
struct Pools<B>(Vec<(EndpointProtocol, Pool<B>)>);

/// Sends requests to one endpoint; made by [`Upstream::endpoint`].
pub struct EndpointService<B> {
    upstream: Upstream<B>,
    address: SocketAddr,
    group: Option<GroupName>,
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
            pools: Arc::new(Pools::new(&options)),
            options: Arc::new(options),
            tunnels,
        }
    }

    /// The service of the endpoint at `address`. Cheap: it shares the pool.
    #[must_use]
    pub fn endpoint(&self, address: SocketAddr) -> EndpointService<B> {
        EndpointService {
            upstream: self.clone(),
            address,
            group: None,
        }
    }
}

impl<B> Pools<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn new(options: &UpstreamOptions) -> Self {
        let mut pools: Vec<(EndpointProtocol, Pool<B>)> = Vec::new();
        for protocol in options.groups.values().chain([&options.protocol]) {
            if pools.iter().all(|(known, _)| known != protocol) {
                pools.push((*protocol, Pool::new(options, *protocol)));
            }
        }
        Self(pools)
    }
}

impl<B> Pools<B> {
    /// The pool for the endpoints of `group`.
    fn of(&self, options: &UpstreamOptions, group: Option<&GroupName>) -> Option<&Pool<B>> {
        let own = group.and_then(|group| options.groups.get(group));
        let protocol = own.unwrap_or(&options.protocol);
        let pool = self.0.iter().find(|(known, _)| known == protocol);
        pool.map(|(_, pool)| pool)
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

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let Upstream {
            pools,
            options,
            tunnels,
        } = &self.upstream;
        let lease = request.extensions().get::<Lease>();
        let group = lease.map(Lease::group).or(self.group.as_ref());
        let Some(pool) = pools.of(options, group) else {
            return ResponseFuture::refused(UpstreamError::new(UpstreamFault::Connect));
        };
        let target = Target {
            endpoint: self.address,
            http2: pool.is_http2(),
            secure: pool.is_secure(),
        };
        let limits = options.limits.of(request.uri().path());
        let on_upgrade = hyper::upgrade::on(&mut request);
        let (parts, body) = request.into_parts();
        let prepared = prepare(parts, &body, target, &options.trusted_proxies);
        let Prepared { mut parts, switch } = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return ResponseFuture::refused(error),
        };
        // all attempts of a request share the time that it has
        let elapsed = parts.extensions.get().map(|again: &Again| again.elapsed);
        let limits = limits.after(elapsed.unwrap_or_default());
        let mut held = std::mem::take(&mut parts.extensions);
        let interim = held.remove::<Interim>();
        if let Some(protocol) = held.remove::<Protocol>()
            && target.http2
        {
            parts.extensions.insert(protocol);
        }
        let handover = switch.map(|switch| Handover {
            client: on_upgrade,
            switch,
            held,
            tunnels: tunnels.clone(),
        });
        let progress = Progress::begin();
        let body = Forwarded::new(body, progress.clone());
        let mut request = Request::from_parts(parts, body);
        if let Some(interim) = interim
            && !target.http2
        {
            interim::pass_on(&mut request, interim);
        }
        let head = pool.send(self.address, request);
        let deadline = Deadline::new(limits, progress);
        let timeouts = options.timeouts.of(self.address);
        ResponseFuture::sent(head, deadline, handover, limits, timeouts)
    }
}

impl<B> Clone for Upstream<B> {
    fn clone(&self) -> Self {
        Self {
            pools: Arc::clone(&self.pools),
            options: Arc::clone(&self.options),
            tunnels: self.tunnels.clone(),
        }
    }
}

impl<B> Clone for EndpointService<B> {
    fn clone(&self) -> Self {
        Self {
            upstream: self.upstream.clone(),
            address: self.address,
            group: self.group.clone(),
        }
    }
}

impl<B> fmt::Debug for Upstream<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("options", &self.options)
            .field("tunnels", &self.tunnels.len())
            .finish_non_exhaustive()
    }
}

impl<B> fmt::Debug for EndpointService<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointService")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
