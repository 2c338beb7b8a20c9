//! Serves connections with a service that cannot fail.

use std::convert::Infallible;
use std::time::Duration;

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tower::Service;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How long a client may take for the header of a request, and be idle before the next one.
const HEADER_LIMIT: Duration = Duration::from_secs(10);

/// How long open requests have to end once the gateway is told to stop.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// The wait after an accept that failed: without descriptors it fails again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` is ready, then lets open requests end.
pub async fn serve<S, R>(listener: TcpListener, service: S, stop: impl Future<Output = ()>)
where
    S: Service<Request<Incoming>, Response = Response<R>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send + 'static,
    R: Body<Data: Send, Error: Into<BoxError>> + Send + 'static,
{
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (io, service) = (TokioIo::new(stream), service.clone());
                tokio::spawn(serve_connection(io, service, graceful.watcher()));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    let open = graceful.count();
    let ended = tokio::time::timeout(STOP_LIMIT, graceful.shutdown()).await;
    if ended.is_err() {
        tracing::warn!(open, "stopped with connections open");
    }
}

/// Serves one connection to its end, on any thread or only on this one.
pub async fn serve_connection<I, S, R>(io: I, service: S, watcher: Watcher)
where
    I: Read + Write + Unpin + 'static,
    S: Service<Request<Incoming>, Response = Response<R>, Error = Infallible> + Clone + 'static,
    S::Future: 'static,
    R: Body<Error: Into<BoxError>> + 'static,
{
    // `axum::serve` has no timer, so a client that never finishes its header would stay
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_LIMIT)
        .serve_connection(io, TowerToHyperService::new(service));
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "connection ended early");
    }
}
