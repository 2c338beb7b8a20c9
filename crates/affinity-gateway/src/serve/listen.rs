//! The accept loop and its graceful end.

use std::{
    convert::Infallible, future::pending, net::SocketAddr, pin::pin, sync::Arc, time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{Instant, sleep, timeout_at},
};
use tokio_util::task::TaskTracker;
use tower_service::Service;

use super::{
    ConnectionEvent, ConnectionRecorder, LiveLimits, ServeOptions, Shutdown, Tunnels,
    accept::Accept,
    connection::{Ending, Protocol},
    limits::Place,
};

/// How a listener ended: what did not come to its own end.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct Drained {
    /// Connections with a request in flight that were cut at the deadline.
    pub connections: usize,
    /// Tunnels that were cut at the deadline.
    pub tunnels: usize,
    /// Tunnels that were asked to end before it: a WebSocket with the code 1012, others by a closed
    /// stream.
    pub asked: usize,
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
/// After [`drain_delay`](ServeOptions::drain_delay) what waits in the system's queue is accepted
/// and nothing more. HTTP/2 connections are told to go away; those of HTTP/1.1 get their next
/// answer with `Connection: close`, and are closed if there is none within
/// [`linger`](ServeOptions::linger). `tunnels` are asked to end one after another. What is left
/// [`drain_deadline`](ServeOptions::drain_deadline) after the signal is cut and counted in the
/// answer.
pub async fn serve<S, B>(
    listener: impl Into<Arc<TcpListener>>,
    service: S,
    options: ServeOptions,
    tunnels: Tunnels,
    shutdown: impl Into<Shutdown>,
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
    let shutdown = shutdown.into();
    let (within, delay) = (options.drain_deadline, options.drain_delay);
    let limits = options.limits.clone();
    tunnels.limit(limits.clone());
    let recorder = Arc::clone(&options.connections);
    let protocol = Arc::new(Protocol::new(options));
    let (connections, ending) = (TaskTracker::new(), Ending::default());

    let mut accept = Accept::new(listener.into());
    let begin = |service: S, place: Option<Place>, (stream, peer): (TcpStream, SocketAddr)| {
        let (protocol, ending, limits) = (Arc::clone(&protocol), ending.clone(), limits.clone());
        connections.spawn(async move {
            // without one it is of the end, when nobody can be left in the queue
            let place = match place {
                Some(place) => place,
                None => limits.place().await,
            };
            protocol.serve(stream, peer, service, ending).await;
            drop(place);
        });
    };
    let accepting = async {
        // Owned here: borrowed over an await, it would have to be `Sync`.
        let service = service;
        let mut end = pin!(async {
            shutdown.token().cancelled().await;
            let begun = Instant::now();
            if !shutdown.is_handed_over() {
                sleep(delay.min(within)).await;
            }
            begun + within
        });
        let deadline = loop {
            // Taken before the accept: at the limit clients wait in the system's queue, where
            // they hold no descriptor of ours.
            let next = async { (place(&limits, &*recorder).await, accept.next().await) };
            tokio::select! {
                (place, accepted) = next => begin(service.clone(), Some(place), accepted),
                deadline = end.as_mut() => break deadline,
            }
        };
        // closed in the queue, these clients would have lost a request that they believe sent
        while !shutdown.is_handed_over()
            && let Some(accepted) = accept.queued()
        {
            begin(service.clone(), None, accepted);
        }
        drop(accept);
        deadline
    };
    let deadline = accepting.await;
    ending.finish.cancel();

    connections.close();
    let left = deadline.saturating_duration_since(Instant::now());
    let all_ended = async {
        connections.wait().await;
        // Only then: a last request may still have become a tunnel.
        tunnels.ended().await;
    };
    let asking = async {
        // who is asked to end needs a while to do it
        tunnels
            .end(left.saturating_sub((left / 5).min(GOODBYE)))
            .await;
        pending::<()>().await;
    };
    let ended = async {
        tokio::select! {
            () = all_ended => {}
            () = asking => {}
        }
    };
    let in_time = timeout_at(deadline, ended).await.is_ok();
    let mut drained = Drained {
        asked: tunnels.asked(),
        ..Drained::default()
    };
    if !in_time {
        drained.connections = connections.len();
        drained.tunnels = tunnels.len();
        ending.cut.cancel();
        tunnels.cut();
        connections.wait().await;
        tunnels.ended().await;
    }
    drained
}

/// A place for the next connection; told if there is none at once.
async fn place(limits: &LiveLimits, recorder: &dyn ConnectionRecorder) -> Place {
    if let Some(place) = limits.free_place() {
        return place;
    }
    recorder.record(ConnectionEvent::Full);
    limits.place().await
}

/// How long a tunnel has at most between the request to end and the deadline.
const GOODBYE: Duration = Duration::from_secs(3);
