//! The pool of connections, and the service of one endpoint.

use std::{
    fmt,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tower_affinity::balance::Again;
use tower_service::Service;

use super::{
    Passed, ResponseFuture, UpstreamError, UpstreamOptions,
    body::{Forwarded, Progress},
    deadline::Deadline,
    request::{Prepared, prepare},
    tunnel::Handover,
};
use crate::serve::Tunnels;

/// All connections to endpoints. A clone is another handle to the same pool.
///
/// A request goes out as HTTP/1.1 with the client's `Host`. Hop-by-hop fields end here, but never
/// names that begin with `affinity-`; the peer's address becomes `X-Forwarded-For`; split cookies
/// of HTTP/2 are joined. The answer comes back whole but for its hop-by-hop fields.
///
/// HTTP/1.1 carries only those trailers that a `Trailer` field announces, and to a client only if
/// it sent `TE: trailers`; others end here.
pub struct Upstream<B> {
    client: Client<HttpConnector, Forwarded<B>>,
    options: Arc<UpstreamOptions>,
    tunnels: Tunnels,
}

/// Sends requests to one endpoint; made by [`Upstream::endpoint`].
pub struct EndpointService<B> {
    upstream: Upstream<B>,
    address: SocketAddr,
}

impl<B> Upstream<B>
where
    B: Body + Send + 'static,
    B::Data: Send,
{
    /// An empty pool. Upgraded connections are handed to `tunnels`.
    #[must_use]
    pub fn new(options: UpstreamOptions, tunnels: Tunnels) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(options.connect_timeout));
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            // Without a timer idle connections would be closed only when next asked for.
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(options.pool_idle_timeout)
            .pool_max_idle_per_host(options.pool_max_idle)
            .retry_canceled_requests(true)
            .set_host(false)
            .build(connector);
        Self {
            client,
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
        }
    }
}

impl<B> Service<Request<B>> for EndpointService<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Passed<Incoming>>;
    type Error = UpstreamError;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let Upstream {
            client,
            options,
            tunnels,
        } = &self.upstream;
        let on_upgrade = hyper::upgrade::on(&mut request);
        let (parts, body) = request.into_parts();
        let Prepared { mut parts, upgrade } = match prepare(parts, &body, self.address, options) {
            Ok(prepared) => prepared,
            Err(error) => return ResponseFuture::refused(error),
        };
        // all attempts of a request share the time that it has
        let elapsed = parts.extensions.get().map(|again: &Again| again.elapsed);
        let within = options
            .response_timeout
            .saturating_sub(elapsed.unwrap_or_default());
        let held = std::mem::take(&mut parts.extensions);
        let handover = upgrade.then(|| Handover {
            client: on_upgrade,
            held,
            tunnels: tunnels.clone(),
        });
        let progress = Progress::begin();
        let body = Forwarded::new(body, progress.clone());
        let head = client.request(Request::from_parts(parts, body));
        let deadline = Deadline::new(within, progress);
        ResponseFuture::sent(head, deadline, handover)
    }
}

impl<B> Clone for Upstream<B> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
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
