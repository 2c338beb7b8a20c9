//! The accept loop and its graceful end.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower_service::Service;

use super::{
    ServeOptions, Tunnels,
    accept::Accept,
    connection::{Ending, Protocol},
};

/// How a listener ended: what was still open at the deadline and therefore cut.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct Drained {
    /// Connections with a request in flight.
    pub connections: usize,
    /// Tunnels.
    pub tunnels: usize,
}

impl Drained {
    /// Whether everything came to its own end.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

/// Serves `service` on `listener` until `shutdown`, then ends in good order.
///
/// From the signal on nothing is accepted; idle connections close, those with a request in
/// flight finish it, `tunnels` run to their end. What is left after
/// [`drain_deadline`](ServeOptions::drain_deadline) is cut and counted in the answer.
pub async fn serve<S, B>(
    listener: TcpListener,
    service: S,
    options: ServeOptions,
    tunnels: Tunnels,
    shutdown: CancellationToken,
) -> Drained
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let deadline = options.drain_deadline;
    let room = Arc::new(Semaphore::new(options.max_connections));
    let protocol = Arc::new(Protocol::new(options));
    let connections = TaskTracker::new();
    let ending = Ending {
        finish: shutdown.clone(),
        cut: CancellationToken::new(),
    };

    let mut accept = Accept::new(listener);
    let accepting = async {
        // Owned here: borrowed over an await, it would have to be `Sync`.
        let service = service;
        loop {
            // Taken before the accept: at the limit clients wait in the system's queue, where
            // they hold no descriptor of ours. The semaphore is never closed.
            let Ok(place) = Arc::clone(&room).acquire_owned().await else {
                return;
            };
            let (stream, peer) = accept.next().await;
            let (protocol, service, ending) =
                (Arc::clone(&protocol), service.clone(), ending.clone());
            connections.spawn(async move {
                protocol.serve(stream, peer, service, ending).await;
                drop(place);
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        () = shutdown.cancelled() => {}
    }
    drop(accept);

    connections.close();
    let all_ended = async {
        connections.wait().await;
        // Only then: a last request may still have become a tunnel.
        tunnels.ended().await;
    };
    if tokio::time::timeout(deadline, all_ended).await.is_ok() {
        return Drained::default();
    }
    let drained = Drained {
        connections: connections.len(),
        tunnels: tunnels.len(),
    };
    ending.cut.cancel();
    tunnels.cut();
    connections.wait().await;
    tunnels.ended().await;
    drained
}
