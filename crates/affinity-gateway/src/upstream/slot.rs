//! What is kept for one endpoint.

use std::{future::poll_fn, net::SocketAddr, pin::Pin, sync::Arc};

use arc_swap::ArcSwap;
use http::Request;
use http_body::Body;
use tokio::{runtime::Handle, sync::oneshot, time::Instant};
use tower_affinity::respond::UpstreamFault;

use super::{
    UpstreamError,
    connection::Connection,
    error::unopened,
    idle::Idle,
    link::{Come, Head},
    pools::Shared,
    timeouts::EndpointTimeouts,
    whole::awaits_end,
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// One endpoint over HTTP/1.1: how its connections are opened, and those that are unused.
pub(super) struct Slot<B> {
    pub(super) address: SocketAddr,
    pub(super) timeouts: Arc<EndpointTimeouts>,
    pub(super) shared: Arc<Shared<B>>,
    /// For each runtime on which there were any. There are few, and they seldom change.
    idle: ArcSwap<Vec<Arc<Idle<B>>>>,
}

impl<B> Slot<B> {
    pub(super) fn new(address: SocketAddr, shared: &Arc<Shared<B>>) -> Self {
        Self {
            address,
            timeouts: Arc::new(shared.options.timeouts.of(address)),
            shared: Arc::clone(shared),
            idle: ArcSwap::default(),
        }
    }

    /// Whether it has no connection that is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.idle.load().iter().all(|idle| idle.is_empty())
    }

    /// Where unused connections of the present runtime are kept.
    fn home(&self) -> Arc<Idle<B>> {
        let runtime = Handle::current();
        let of =
            |all: &Vec<Arc<Idle<B>>>| all.iter().find(|idle| idle.is_on(runtime.id())).cloned();
        if let Some(home) = of(&self.idle.load()) {
            return home;
        }
        let options = &self.shared.options;
        let (most, lasts) = (options.pool_max_idle, options.pool_idle_timeout);
        let new = Arc::new(Idle::new(runtime.clone(), most, lasts));
        // another thread of the runtime may be faster
        self.idle.rcu(|all| {
            let mut all = Vec::clone(all);
            if of(&all).is_none() {
                // those of runtimes that are gone
                all.retain(|idle| !idle.is_empty());
                all.push(Arc::clone(&new));
            }
            all
        });
        of(&self.idle.load()).unwrap_or(new)
    }
}

impl<B> Slot<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    /// Sends a request over the warmest connection that is unused, or over a new one.
    pub(super) fn send(self: Arc<Self>, now: Instant, request: Request<B>) -> Head {
        if awaits_end(request.body()) {
            return Head::apart(self.after_end(request));
        }
        match self.unused(now) {
            Some(mut connection) => {
                connection.send(self, request);
                Head::Sent(connection)
            }
            None => Head::apart(self.open(request)),
        }
    }

    /// Sends a request whose head says that nothing follows, once nothing has followed.
    async fn after_end(self: Arc<Self>, mut request: Request<B>) -> Result<Come, UpstreamError> {
        while let Some(frame) = poll_fn(|cx| Pin::new(request.body_mut()).poll_frame(cx)).await {
            if let Err(error) = frame {
                return Err(UpstreamError::caused(UpstreamFault::RequestBody, error));
            }
        }
        match self.unused(Instant::now()) {
            Some(mut connection) => {
                connection.send(self, request);
                Ok(Come::Link(connection))
            }
            None => self.open(request).await,
        }
    }

    fn unused(&self, now: Instant) -> Option<Box<Connection<B>>> {
        let runtime = Handle::try_current().ok()?.id();
        let all = self.idle.load();
        let idle = all.iter().find(|idle| idle.is_on(runtime))?;
        idle.take(now)
    }

    /// Sends a request over the connection that is there first: a new one, or one that comes back.
    ///
    /// Who finds no connection must not depend on a new one alone: an endpoint that takes connections
    /// slowly drops some of a burst of them, and the next attempt of the kernel is a second later.
    async fn open(self: Arc<Self>, request: Request<B>) -> Result<Come, UpstreamError> {
        let home = self.home();
        let (sender, opened) = oneshot::channel();
        let (slot, of) = (Arc::clone(&self), Arc::clone(&home));
        tokio::spawn(async move {
            let opened = slot.dial(&of).await;
            if let Err(Ok(connection)) = sender.send(opened) {
                // the request has gone another way: the next one has it
                connection.keep();
            }
        });
        let mut connection = tokio::select! {
            biased;
            opened = opened => match opened {
                Ok(opened) => opened?,
                // the runtime ends
                Err(_) => return Err(UpstreamError::new(UpstreamFault::Connect)),
            },
            returned = home.returned() => returned,
        };
        connection.send(self, request);
        Ok(Come::Link(connection))
    }

    async fn dial(&self, home: &Arc<Idle<B>>) -> Result<Box<Connection<B>>, UpstreamError> {
        let stream = self.shared.http1.dial(self.address).await;
        let stream = stream.map_err(|error| UpstreamError::caused(unopened(&error), error))?;
        Ok(Connection::open(stream, home).await?)
    }
}
