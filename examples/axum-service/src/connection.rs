//! Serves connections so that no client can hold one for ever.
//!
//! A header has 10 s from its first byte, the first one from the connection's start. Between two requests
//! a connection may be idle for 90 s: a balancer that keeps its connections for less (60 to 75 s are
//! usual) never sends a request in the instant in which we close one.

mod idle;

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::Request;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tower::ServiceExt;

/// How long a client may take for the header of a request.
const HEADER_LIMIT: Duration = Duration::from_secs(10);

/// How long a connection may be idle between two requests: longer than balancers keep one.
const IDLE_LIMIT: Duration = Duration::from_secs(90);

/// How long open requests have to end once the service is told to stop.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// The wait after an accept that failed: without descriptors it fails again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `app` until `stop` is ready, then lets open requests end.
pub async fn serve(listener: TcpListener, app: Router, stop: impl Future<Output = ()>) {
    let (stopping, told) = watch::channel(());
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let io = TokioIo::new(stream);
                tokio::spawn(serve_connection(io, peer, app.clone(), told.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop((listener, told));
    // each open connection has a receiver, and is closed when all are gone
    stopping.send_replace(());
    if tokio::time::timeout(STOP_LIMIT, stopping.closed())
        .await
        .is_err()
    {
        let open = stopping.receiver_count();
        tracing::warn!(open, "stopped with connections open");
    }
}

/// Serves one connection to its end, or until it is told to `stop` and has no request open.
// `axum::serve` has no timer, so a client that never finishes its header would stay; the builder for
// both versions of HTTP waits for the first bytes without one.
pub async fn serve_connection<I>(
    io: I,
    peer: SocketAddr,
    app: Router,
    mut stop: watch::Receiver<()>,
) where
    I: Read + Write + Unpin + Send + 'static,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        app.clone().oneshot(request)
    });
    let (io, timer) = idle::watched(io, HEADER_LIMIT);
    let connection = http1::Builder::new()
        .timer(timer)
        .header_read_timeout(IDLE_LIMIT)
        .serve_connection(io, service)
        .with_upgrades();
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        _ = stop.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "connection ended early");
    }
}
