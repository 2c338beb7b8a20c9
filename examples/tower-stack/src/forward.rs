//! The leaf: sends a request to one endpoint through a pooled client.

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::TryFutureExt;
use futures_util::future::{MapErr, MapOk};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tower::Service;
use tower_affinity::balance::Endpoint;
use tower_affinity::respond::UpstreamFault;

use crate::hops::strip_response;

/// The connections to all endpoints. They are kept by address, so that no two groups share one.
pub type Pool<B> = Client<HttpConnector, B>;

/// Endpoints usually close an idle connection after a minute; one that we close first is never
/// found closed by a request.
const IDLE: Duration = Duration::from_secs(30);

const CONNECT_LIMIT: Duration = Duration::from_secs(1);

/// A pool without connections.
#[must_use]
pub fn pool<B>() -> Pool<B>
where
    B: Body + Send,
    B::Data: Send,
{
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(CONNECT_LIMIT));
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE)
        // without a timer, idle connections stay until somebody asks for that endpoint again
        .pool_timer(TokioTimer::new())
        .build(connector)
}

/// What [`GroupBalance`](tower_affinity::GroupBalance) connects with.
pub fn forward_over<B>(pool: Pool<B>) -> impl Fn(&Arc<Endpoint>) -> Forward<B> + Clone {
    move |endpoint| Forward {
        pool: pool.clone(),
        address: endpoint.address(),
    }
}

/// Sends requests to one endpoint.
#[derive(Clone, Debug)]
pub struct Forward<B> {
    pool: Pool<B>,
    address: SocketAddr,
}

impl<B> Service<Request<B>> for Forward<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Incoming>;
    type Error = UpstreamFault;
    type Future = MapErr<
        MapOk<ResponseFuture, fn(Response<Incoming>) -> Response<Incoming>>,
        fn(Error) -> UpstreamFault,
    >;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), UpstreamFault>> {
        Service::<Request<B>>::poll_ready(&mut self.pool, cx).map_err(fault)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        *request.uri_mut() = at(self.address, request.uri());
        *request.version_mut() = Version::HTTP_11;
        let strip: fn(Response<Incoming>) -> Response<Incoming> = strip_response;
        let fault: fn(Error) -> UpstreamFault = fault;
        self.pool.request(request).map_ok(strip).map_err(fault)
    }
}

/// Tells the balancer what went wrong, so that it can try another endpoint where that does no harm.
#[expect(clippy::needless_pass_by_value, reason = "what maps an error takes it")]
fn fault(error: Error) -> UpstreamFault {
    if error.is_connect() {
        UpstreamFault::Connect
    } else {
        UpstreamFault::Closed
    }
}

/// The same path at an endpoint.
fn at(address: SocketAddr, uri: &Uri) -> Uri {
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(Scheme::HTTP);
    // an address is always an authority, and a request that was parsed has a path; should one of
    // them ever not, the client refuses the request
    parts.authority = Authority::try_from(address.to_string()).ok();
    let path = uri.path_and_query().cloned();
    parts.path_and_query = Some(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    Uri::from_parts(parts).unwrap_or_default()
}
