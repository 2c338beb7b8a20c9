//! What is kept for one endpoint.

use std::{net::SocketAddr, sync::Arc};

use arc_swap::ArcSwap;
use http::Request;
use http_body::Body;
use tokio::{runtime::Handle, time::Instant};

use super::{
    UpstreamError,
    connection::Connection,
    error::unopened,
    idle::Idle,
    link::{Come, Head},
    pools::Shared,
    timeouts::EndpointTimeouts,
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
        match self.unused(now) {
            Some(mut connection) => {
                connection.send(self, request);
                Head::Sent(connection)
            }
            None => Head::apart(self.open(request)),
        }
    }

    fn unused(&self, now: Instant) -> Option<Box<Connection<B>>> {
        let runtime = Handle::try_current().ok()?.id();
        let all = self.idle.load();
        let idle = all.iter().find(|idle| idle.is_on(runtime))?;
        idle.take(now)
    }

    async fn open(self: Arc<Self>, request: Request<B>) -> Result<Come, UpstreamError> {
        let stream = self.shared.http1.dial(self.address).await;
        let stream = stream.map_err(|error| UpstreamError::caused(unopened(&error), error))?;
        let mut connection = Connection::open(stream, &self.home()).await?;
        connection.send(self, request);
        Ok(Come::Link(connection))
    }
}
