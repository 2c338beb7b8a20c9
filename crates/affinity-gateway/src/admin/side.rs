//! The listener of the admin side.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tower::ServiceBuilder;
use tower_affinity::PeerAddr;
use tower_service::Service;

use crate::discard::{DiscardBody, DiscardLayer, DiscardLimits};
use crate::intake::{BodyLimits, Bounded, IntakeLayer};
use crate::serve::{Limits, LiveLimits, ServeOptions, Shutdown, Tunnels, serve};

/// How many connections the admin side has at a time.
pub(crate) const ADMIN_CONNECTIONS: usize = 256;

/// Serves `routes` with the limits of a listener for clients, so that no client that is slow or
/// sends nothing keeps an operator out.
pub(crate) async fn serve_side(
    listener: TcpListener,
    routes: Router,
    shutdown: impl Into<Shutdown>,
) {
    let answer = move |request: Request<Bounded<DiscardBody<Incoming>>>| {
        let mut routes = routes.clone();
        let mut request = request.map(Body::new);
        if let Some(PeerAddr(peer)) = request.extensions().get().copied() {
            request.extensions_mut().insert(ConnectInfo(peer));
        }
        async move {
            // a router is always ready
            let answer: Result<_, Infallible> = routes.call(request).await;
            answer
        }
    };
    let bodies = BodyLimits {
        most: LONGEST_BODY,
        scopes: Vec::new(),
        patience: PATIENCE,
        told: Arc::new(|_| {}),
    };
    let service = ServiceBuilder::new()
        .layer(DiscardLayer::new(DiscardLimits::new(PATIENCE, || {})))
        .layer(IntakeLayer::new(bodies, |_: StatusCode| {}))
        .service_fn(answer);
    let limits = Limits {
        max_connections: ADMIN_CONNECTIONS,
        header_timeout: PATIENCE,
        body_timeout: PATIENCE,
        ..Limits::default()
    };
    let options = ServeOptions::new()
        .limits(LiveLimits::new(limits))
        .linger(Duration::ZERO)
        .drain_deadline(GRACE);
    // a client that keeps its connection open does not hold the end up
    let drained = serve(listener, service, options, Tunnels::new(), shutdown).await;
    tracing::debug!(?drained, "the admin side has ended");
}

/// How long the admin side may still answer after the shutdown began.
const GRACE: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(10);
/// Far above a change of all groups.
const LONGEST_BODY: u64 = 2 * 1024 * 1024;
