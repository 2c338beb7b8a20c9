//! One server: its accept loops and their graceful end.

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
    accept::Accept, connection::Protocol, ending::Ending,
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
///
/// A request that cannot be read is answered without the service; its answer's body is made from
/// bytes.
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
    B: Body<Data = Bytes> + From<Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let server = Server::new(options, tunnels, shutdown.into());
    let deadline = server.accept(listener.into(), service).await;
    server.drain(deadline).await
}

/// The service that is served, as [`serve`] asks for it.
pub(crate) trait Served<B>:
    Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send + 'static>
    + Clone
    + Send
    + 'static
{
}

impl<S, B> Served<B> for S where
    S: Service<
            Request<Incoming>,
            Response = Response<B>,
            Error = Infallible,
            Future: Send + 'static,
        > + Clone
        + Send
        + 'static
{
}

/// The body of its answers.
pub(crate) trait ServedBody:
    Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
    + From<Bytes>
    + Send
    + 'static
{
}

impl<B> ServedBody for B where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + From<Bytes>
        + Send
        + 'static
{
}

/// What the accept loops of one server share, each of which may run on a runtime of its own.
pub(super) struct Server {
    protocol: Arc<Protocol>,
    limits: LiveLimits,
    recorder: Arc<dyn ConnectionRecorder>,
    connections: TaskTracker,
    ending: Ending,
    tunnels: Tunnels,
    shutdown: Shutdown,
    delay: Duration,
    within: Duration,
}

impl Server {
    pub(super) fn new(options: ServeOptions, tunnels: Tunnels, shutdown: Shutdown) -> Self {
        let limits = options.limits.clone();
        tunnels.limit(limits.clone());
        Self {
            limits,
            recorder: Arc::clone(&options.connections),
            connections: TaskTracker::new(),
            ending: Ending::default(),
            tunnels,
            shutdown,
            delay: options.drain_delay,
            within: options.drain_deadline,
            protocol: Arc::new(Protocol::new(options)),
        }
    }

    /// Accepts connections until the shutdown, and serves them on the present runtime. Answers when
    /// all has to be over.
    pub(super) async fn accept<S, B>(&self, listener: Arc<TcpListener>, service: S) -> Instant
    where
        S: Served<B>,
        B: ServedBody,
    {
        // Owned here: borrowed over an await, it would have to be `Sync`.
        let service = service;
        let mut accept = Accept::new(listener);
        let mut end = pin!(self.ended());
        let deadline = loop {
            // Before the accept: at the limit clients wait in the system's queue, where they hold no
            // descriptor of ours.
            let next = async {
                self.room().await;
                accept.next().await
            };
            tokio::select! {
                accepted = next => self.begin(service.clone(), accepted),
                deadline = end.as_mut() => break deadline,
            }
        };
        // closed in the queue, these clients would have lost a request that they believe sent
        while !self.shutdown.is_handed_over()
            && let Some(accepted) = accept.queued()
        {
            self.begin(service.clone(), accepted);
        }
        deadline
    }

    /// Waits until nothing is to be accepted any more. Answers when all has to be over.
    pub(super) async fn ended(&self) -> Instant {
        self.shutdown.token().cancelled().await;
        let begun = Instant::now();
        if !self.shutdown.is_handed_over() {
            sleep(self.delay.min(self.within)).await;
        }
        begun + self.within
    }

    fn begin<S, B>(&self, service: S, (stream, peer): (TcpStream, SocketAddr))
    where
        S: Served<B>,
        B: ServedBody,
    {
        let (protocol, ending) = (Arc::clone(&self.protocol), self.ending.clone());
        let (place, limits) = (self.limits.free_place(), self.limits.clone());
        // boxed: a task moves its future some times on its way in and out
        self.connections.spawn(Box::pin(async move {
            // there is none if another loop was faster, and at the end, when nobody can be left in
            // the queue
            let place = match place {
                Some(place) => place,
                None => limits.place().await,
            };
            protocol.serve(stream, peer, service, ending).await;
            drop(place);
        }));
    }

    /// Waits until there is room for a connection; told if there is none at once.
    async fn room(&self) {
        if !self.limits.has_room() {
            self.recorder.record(ConnectionEvent::Full);
            self.limits.room().await;
        }
    }

    /// Ends in good order, once no loop accepts any more.
    pub(super) async fn drain(&self, deadline: Instant) -> Drained {
        let (connections, tunnels) = (&self.connections, &self.tunnels);
        self.ending.finish();
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
            self.ending.cut();
            tunnels.cut();
            connections.wait().await;
            tunnels.ended().await;
        }
        drained
    }
}

/// How long a tunnel has at most between the request to end and the deadline.
const GOODBYE: Duration = Duration::from_secs(3);
