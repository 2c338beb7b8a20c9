//! [`Limits`]: what clients may take, one connection and all together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::Notify;

/// What clients may take of a listener.
///
/// The defaults are safe for an address that the internet can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// `true` by default: whether HTTP/2 is spoken, by ALPN and by prior knowledge.
    pub http2: bool,
    /// 10 s by default: how long a request head may take on HTTP/1.1 once its first byte has come,
    /// and the first bytes of a connection, a PROXY header and a TLS handshake.
    pub header_timeout: Duration,
    /// 75 s by default: how long an HTTP/1.1 connection may be silent between two requests.
    pub keep_alive: Duration,
    /// 30 s by default: how long the body of a request may bring nothing, and how long a client may
    /// take nothing of an answer or of a tunnel.
    pub body_timeout: Duration,
    /// 16,384 by default: at so many open connections no more is accepted until one ends. Tunnels
    /// do not count, they are requests that have been handed over.
    pub max_connections: usize,
    /// 65,536 by default: how many requests may be in flight over all groups; more are answered 503.
    pub max_requests: usize,
    /// 200 by default: how many streams one HTTP/2 connection may have open at once.
    pub max_streams: u32,
    /// 100 by default: how many header fields an HTTP/1.1 request may have; more is answered 431.
    pub max_headers: usize,
    /// 64 KiB by default: how many bytes an HTTP/1.1 request head may have, at least 8 KiB; more is
    /// answered 431. An HTTP/2 request may have a quarter of it, with 32 bytes counted for each
    /// field: one connection may hold many of them.
    pub max_header_bytes: usize,
    /// 1 GiB by default: how many bytes the body of a request may have; more is answered 413.
    pub max_body: u64,
}

impl Limits {
    /// How many bytes the header list of an HTTP/2 request may have.
    pub(super) fn h2_header_list(&self) -> u32 {
        u32::try_from(self.header_bytes() / 4).unwrap_or(u32::MAX)
    }

    /// How many bytes a head may have.
    pub(super) fn header_bytes(&self) -> usize {
        self.max_header_bytes.max(SMALLEST_BUFFER)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            http2: true,
            header_timeout: Duration::from_secs(10),
            // Above the 60 s after which common load balancers close a connection themselves: whoever
            // closes first must not be the side to which a request may be under way.
            keep_alive: Duration::from_secs(75),
            body_timeout: Duration::from_secs(30),
            max_connections: 16_384,
            // At some 16 KiB for each, a GiB.
            max_requests: 65_536,
            max_streams: 200,
            max_headers: 100,
            // Sixteen times what browsers send at most for one cookie.
            max_header_bytes: 64 * 1024,
            max_body: 1 << 30,
        }
    }
}

/// The limits of a running listener, and the places of its connections. A clone is another handle.
///
/// What is replaced counts for new connections; the number of connections counts at once, though
/// none is closed for it.
#[derive(Clone, Debug, Default)]
pub struct LiveLimits(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    present: ArcSwap<Limits>,
    taken: AtomicUsize,
    freed: Notify,
    /// Whether it was told that no place is free.
    told: AtomicBool,
}

impl LiveLimits {
    /// A handle to `limits`.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let live = Self::default();
        live.replace(limits);
        live
    }

    /// What counts from now on.
    pub fn replace(&self, limits: Limits) {
        self.0.present.store(Arc::new(limits));
        self.0.freed.notify_waiters();
    }

    /// What counts now.
    #[must_use]
    pub fn present(&self) -> Arc<Limits> {
        self.0.present.load_full()
    }

    /// How many connections are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.0.taken.load(Ordering::Relaxed)
    }

    /// Waits for a place.
    pub(super) async fn place(&self) -> Place {
        self.until(|| self.free_place()).await
    }

    /// Waits until a place is free, and leaves it free: several may wait for the same one.
    pub(super) async fn room(&self) {
        self.until(|| self.has_room().then_some(())).await;
    }

    pub(super) fn has_room(&self) -> bool {
        self.open() < self.most()
    }

    async fn until<T>(&self, found: impl Fn() -> Option<T>) -> T {
        loop {
            // before the look: a place that is freed after it wakes this one
            let freed = self.0.freed.notified();
            if let Some(found) = found() {
                return found;
            }
            if !self.0.told.swap(true, Ordering::Relaxed) {
                let limit = self.most();
                tracing::warn!(limit, "no more connections are accepted until some end");
            }
            freed.await;
        }
    }

    fn most(&self) -> usize {
        self.0.present.load().max_connections.max(1)
    }

    /// A place, if one is free.
    pub(super) fn free_place(&self) -> Option<Place> {
        let most = self.most();
        let taken = &self.0.taken;
        let one_more = |taken| (taken < most).then_some(taken + 1);
        let before = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        // told again only after there was some room: at the limit one comes for each that goes
        if before.is_ok_and(|taken| taken < most - most / 10) {
            self.0.told.store(false, Ordering::Relaxed);
        }
        before.ok().map(|_| Place(self.clone()))
    }
}

/// The place of one connection among those that are served at a time, until it is dropped.
#[derive(Debug)]
pub(super) struct Place(LiveLimits);

impl Drop for Place {
    fn drop(&mut self) {
        let Self(LiveLimits(shared)) = self;
        shared.taken.fetch_sub(1, Ordering::Relaxed);
        // all that wait: who waits for room takes no place
        shared.freed.notify_waiters();
    }
}

/// hyper panics on a smaller buffer.
const SMALLEST_BUFFER: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use tokio_test::{assert_pending, assert_ready, task::spawn};

    use super::*;

    fn places(count: usize) -> Limits {
        Limits {
            max_connections: count,
            ..Limits::default()
        }
    }

    #[test]
    fn a_place_that_is_given_back_is_taken_by_who_waits() {
        let live = LiveLimits::new(places(1));
        let first = assert_ready!(spawn(live.place()).poll());
        let mut second = spawn(live.place());
        assert_pending!(second.poll(), "above the limit");
        drop(first);
        assert!(second.is_woken(), "nobody was told of the place");
        let second = assert_ready!(second.poll());
        assert_eq!(live.open(), 1);
        drop(second);
        assert_eq!(live.open(), 0);
    }

    #[test]
    fn another_limit_counts_at_once() {
        let live = LiveLimits::new(places(1));
        let _first = assert_ready!(spawn(live.place()).poll());
        let mut second = spawn(live.place());
        assert_pending!(second.poll());
        live.replace(places(2));
        let _second = assert_ready!(second.poll());
        live.replace(places(1));
        assert_eq!(live.open(), 2, "nobody is closed for a lower limit");
        assert_pending!(spawn(live.place()).poll());
    }
}
