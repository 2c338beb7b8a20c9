//! Sends a request to a peer through a pooled client, and hands an upgraded connection over.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::UPGRADE;
use axum::http::uri::{Authority, PathAndQuery, Scheme};
use axum::http::{Request, Response, StatusCode, Uri, Version};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tower::Service;
use tower_affinity::balance::{Connect, Cut, Endpoint, Lease, ReplayBody};
use tower_affinity::respond::UpstreamFault;

/// The connections to all peers. They are kept by address, so that no two commits share one.
pub type Pool = Client<HttpConnector, ReplayBody<Body>>;

/// A peer closes an idle connection after [`HEADER_LIMIT`](crate::connection): one that we close
/// first is never found closed by a request.
const IDLE: Duration = Duration::from_secs(5);

const CONNECT_LIMIT: Duration = Duration::from_secs(1);

/// A pool without connections.
#[must_use]
pub fn pool() -> Pool {
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(CONNECT_LIMIT));
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new())
        .pool_idle_timeout(IDLE)
        // without a timer, idle connections stay until somebody asks for that peer again
        .pool_timer(TokioTimer::new())
        .build(connector)
}

/// What a [`PeerForwardLayer`](tower_affinity::PeerForwardLayer) connects with.
#[derive(Clone, Debug)]
pub struct ConnectOver(Pool);

impl ConnectOver {
    /// Over that pool.
    #[must_use]
    pub fn new(pool: Pool) -> Self {
        Self(pool)
    }
}

impl Connect<ReplayBody<Body>> for ConnectOver {
    type Service = Forward;

    fn connect(&self, endpoint: &Arc<Endpoint>) -> Forward {
        Forward {
            pool: self.0.clone(),
            address: endpoint.address(),
        }
    }
}

/// Sends requests to one peer.
#[derive(Clone, Debug)]
pub struct Forward {
    pool: Pool,
    address: SocketAddr,
}

impl Service<Request<ReplayBody<Body>>> for Forward {
    type Response = Response<Incoming>;
    type Error = UpstreamFault;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Incoming>, UpstreamFault>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), UpstreamFault>> {
        Service::<Request<_>>::poll_ready(&mut self.pool, cx).map_err(fault)
    }

    fn call(&mut self, mut request: Request<ReplayBody<Body>>) -> Self::Future {
        *request.uri_mut() = at(self.address, request.uri());
        *request.version_mut() = Version::HTTP_11;
        let upgrades = request.headers().contains_key(UPGRADE);
        let client = upgrades.then(|| Upgrading::of(&mut request));
        let answer = self.pool.request(request);
        Box::pin(async move {
            let mut response = answer.await.map_err(fault)?;
            if response.status() == StatusCode::SWITCHING_PROTOCOLS
                && let Some(client) = client
            {
                let peer = hyper::upgrade::on(&mut response);
                tokio::spawn(client.join(peer));
            }
            Ok(response)
        })
    }
}

/// The client's side of an upgrade, and the place that its request has at the peer.
struct Upgrading {
    upgraded: OnUpgrade,
    lease: Option<Lease>,
}

impl Upgrading {
    fn of(request: &mut Request<ReplayBody<Body>>) -> Self {
        Self {
            upgraded: hyper::upgrade::on(&mut *request),
            lease: request.extensions().get::<Lease>().cloned(),
        }
    }

    /// Copies both ways until both sides have ended, or the tunnel is cut with its commit. The lease
    /// lasts as long: the body of a 101 ends at once.
    async fn join(self, peer: OnUpgrade) {
        let Self { upgraded, lease } = self;
        let copied = async {
            let (client, peer) = tokio::try_join!(upgraded, peer)?;
            let (mut client, mut peer) = (TokioIo::new(client), TokioIo::new(peer));
            tokio::io::copy_bidirectional(&mut client, &mut peer).await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        };
        let ended = match lease.map(Cut::of) {
            Some(cut) => tokio::select! {
                ended = copied => ended,
                () = cut => Ok(()),
            },
            None => copied.await,
        };
        if let Err(error) = ended {
            tracing::debug!(error, "tunnel ended with an error");
        }
    }
}

/// Tells the balancer what went wrong, so that it can ask another process where that does no harm.
#[expect(clippy::needless_pass_by_value, reason = "what maps an error takes it")]
fn fault(error: Error) -> UpstreamFault {
    if error.is_connect() {
        UpstreamFault::Connect
    } else if is_of_client(&error) {
        UpstreamFault::RequestBody
    } else {
        UpstreamFault::Closed
    }
}

/// Whether the body of the request broke off, which is no fault of the peer.
fn is_of_client(error: &Error) -> bool {
    let mut next = std::error::Error::source(error);
    while let Some(error) = next {
        if error.downcast_ref().is_some_and(hyper::Error::is_user) {
            return true;
        }
        next = error.source();
    }
    false
}

/// The same path at a peer.
fn at(address: SocketAddr, uri: &Uri) -> Uri {
    let mut parts = axum::http::uri::Parts::default();
    parts.scheme = Some(Scheme::HTTP);
    // an address is always an authority, and a request that was parsed has a path; should one of
    // them ever not, the client refuses the request
    parts.authority = Authority::try_from(address.to_string()).ok();
    let path = uri.path_and_query().cloned();
    parts.path_and_query = Some(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    Uri::from_parts(parts).unwrap_or_default()
}
