//! Serves connections so that no client can hold one for ever.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::Request;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::TcpListener;
use tower::ServiceExt;

/// How long a client may take for the header of a request, and be idle before the next one.
const HEADER_LIMIT: Duration = Duration::from_secs(10);

/// How long open requests have to end once the service is told to stop.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// The wait after an accept that failed: without descriptors it fails again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `app` until `stop` is ready, then lets open requests end.
pub async fn serve(listener: TcpListener, app: Router, stop: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let io = TokioIo::new(stream);
                tokio::spawn(serve_connection(io, peer, app.clone(), graceful.watcher()));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    let open = graceful.count();
    if tokio::time::timeout(STOP_LIMIT, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!(open, "stopped with connections open");
    }
}

/// Serves one connection to its end.
// `axum::serve` has no timer, so a client that never finishes its header would stay. HTTP/1 only
// and without upgrades, since both make the builder wait for the first bytes without a timer.
pub async fn serve_connection<I>(io: I, peer: SocketAddr, app: Router, watcher: Watcher)
where
    I: Read + Write + Unpin + Send + 'static,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        app.clone().oneshot(request)
    });
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_LIMIT);
    let connection = builder.serve_connection(io, service).into_owned();
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%peer, error, "connection ended early");
    }
}
