//! The unused connections to one endpoint, on one runtime.

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use http_body::Body;
use tokio::{
    runtime::{Handle, Id},
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::connection::Connection;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Unused connections, of which the warmest is used first, so that the others can grow old.
///
/// They stay on the runtime on which they were opened, since their sockets are registered there. A
/// task looks after them for as long as there are any: it closes those that the endpoint has closed
/// and those whose time is over, and all of them if the runtime ends.
pub(super) struct Idle<B> {
    runtime: Handle,
    most: usize,
    lasts: Duration,
    /// Something came up on one of them.
    stirred: Arc<Notify>,
    /// One was given back while somebody waited for one.
    kept: Notify,
    list: Mutex<List<B>>,
}

struct List<B> {
    /// The coldest in front.
    connections: VecDeque<Box<Connection<B>>>,
    is_watched: bool,
    /// How many wait for a connection.
    waiting: usize,
}

/// One who waits for a connection, until it is dropped.
struct Waits<'a, B>(&'a Idle<B>);

impl<B> Drop for Waits<'_, B> {
    fn drop(&mut self) {
        self.0.list().waiting -= 1;
    }
}

impl<B> Idle<B> {
    pub(super) fn new(runtime: Handle, most: usize, lasts: Duration) -> Self {
        Self {
            runtime,
            most,
            lasts,
            stirred: Arc::default(),
            kept: Notify::new(),
            list: Mutex::new(List {
                connections: VecDeque::new(),
                is_watched: false,
                waiting: 0,
            }),
        }
    }

    pub(super) fn is_on(&self, runtime: Id) -> bool {
        self.runtime.id() == runtime
    }

    /// Whether nothing would be lost with it.
    pub(super) fn is_empty(&self) -> bool {
        let list = self.list();
        list.connections.is_empty() && !list.is_watched
    }

    pub(super) fn stirred(&self) -> Arc<Notify> {
        Arc::clone(&self.stirred)
    }

    fn list(&self) -> MutexGuard<'_, List<B>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B> Idle<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    /// The connection that was used last, unless its time is over.
    pub(super) fn take(&self, now: Instant) -> Option<Box<Connection<B>>> {
        let mut list = self.list();
        let warmest = list.connections.back()?;
        if warmest.since() + self.lasts <= now {
            return None;
        }
        list.connections.pop_back()
    }

    /// The next connection that somebody gives back.
    ///
    /// Cancel safe: a connection that is not taken here stays for others.
    pub(super) async fn returned(&self) -> Box<Connection<B>> {
        self.list().waiting += 1;
        let _waits = Waits(self);
        loop {
            let mut kept = pin!(self.kept.notified());
            // before the look: what is given back after it wakes this one
            kept.as_mut().enable();
            if let Some(connection) = self.take(Instant::now()) {
                return connection;
            }
            kept.await;
        }
    }

    /// Keeps a connection that is free, unless there are enough.
    pub(super) fn keep(self: &Arc<Self>, connection: Box<Connection<B>>) {
        let mut list = self.list();
        if list.connections.len() >= self.most {
            return;
        }
        list.connections.push_back(connection);
        if list.waiting > 0 {
            self.kept.notify_one();
        }
        if !std::mem::replace(&mut list.is_watched, true) {
            drop(list);
            let watch = Watch(Arc::downgrade(self));
            self.runtime.spawn(watch.run(self.stirred()));
        }
    }

    /// Closes what must not be used any more; when to look again.
    fn look(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut list = self.list();
        let mut over = Vec::new();
        for mut connection in std::mem::take(&mut list.connections) {
            if connection.since() + self.lasts <= now || connection.is_over() {
                over.push(connection);
            } else {
                list.connections.push_back(connection);
            }
        }
        let coldest = list.connections.front();
        let next = coldest.map(|coldest| coldest.since() + self.lasts);
        list.is_watched = next.is_some();
        drop(list);
        // closed where nobody waits for the list
        drop(over);
        next
    }
}

/// Looks after unused connections; dropped before its end, it closes them, since its runtime has
/// ended and theirs with it.
struct Watch<B>(Weak<Idle<B>>);

impl<B> Watch<B>
where
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    async fn run(mut self, stirred: Arc<Notify>) {
        while let Some(next) = self.0.upgrade().and_then(|idle| idle.look()) {
            tokio::select! {
                () = stirred.notified() => {}
                () = sleep_until(next) => {}
            }
        }
        // what is kept from now on has another watch
        self.0 = Weak::new();
    }
}

impl<B> Drop for Watch<B> {
    fn drop(&mut self) {
        let Some(idle) = self.0.upgrade() else {
            return;
        };
        let mut list = idle.list();
        list.is_watched = false;
        let connections = std::mem::take(&mut list.connections);
        drop(list);
        drop(connections);
    }
}
