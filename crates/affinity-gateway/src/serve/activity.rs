//! What happens on one connection, as far as its end has to know.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// Counts what goes on on a connection. A clone is another handle to the same counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    in_flight: AtomicUsize,
    /// Grows with all that a client sends and with each answer that ends.
    moves: AtomicU64,
    /// Grows with each request and each answer that ends.
    turns: AtomicU64,
    multiplexed: AtomicBool,
    /// Whether the client took nothing for too long.
    stalled: AtomicBool,
    /// Wakes who waits for the first request of a connection that multiplexes.
    first: Notify,
}

impl Activity {
    /// Bytes came from the client.
    pub(super) fn heard(&self) {
        self.0.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// A request began; it is in flight until the answer is dropped.
    pub(super) fn begin(&self, version: http::Version) -> InFlight {
        self.0.in_flight.fetch_add(1, Ordering::Relaxed);
        self.0.turns.fetch_add(1, Ordering::Relaxed);
        if version == http::Version::HTTP_2 && !self.0.multiplexed.swap(true, Ordering::Relaxed) {
            self.0.first.notify_one();
        }
        InFlight(self.clone())
    }

    /// Waits for the first request of HTTP/2; for ever on HTTP/1.1.
    pub(super) async fn multiplexes(&self) {
        let first = self.0.first.notified();
        if !self.0.multiplexed.load(Ordering::Relaxed) {
            first.await;
        }
    }

    /// Whether HTTP/2 was spoken.
    pub(super) fn is_multiplexed(&self) -> bool {
        self.0.multiplexed.load(Ordering::Relaxed)
    }

    /// The client took nothing for too long.
    pub(super) fn stall(&self) {
        self.0.stalled.store(true, Ordering::Relaxed);
    }

    /// Whether the client took nothing for too long.
    pub(super) fn is_stalled(&self) -> bool {
        self.0.stalled.load(Ordering::Relaxed)
    }

    /// Waits until a connection of HTTP/2 has had no request in flight for so long.
    pub(super) async fn idles(&self, within: Duration) {
        self.multiplexes().await;
        let mut turns = None;
        loop {
            let now = self.0.turns.load(Ordering::Relaxed);
            if turns == Some(now) && self.0.in_flight.load(Ordering::Relaxed) == 0 {
                return;
            }
            turns = Some(now);
            tokio::time::sleep(within).await;
        }
    }

    /// A mark of what has happened so far.
    pub(super) fn mark(&self) -> u64 {
        self.0.moves.load(Ordering::Relaxed)
    }

    /// Whether nothing is in flight and nothing has happened since `mark`.
    pub(super) fn is_silent_since(&self, mark: u64) -> bool {
        self.0.in_flight.load(Ordering::Relaxed) == 0 && self.mark() == mark
    }
}

/// One request whose answer has not ended.
#[derive(Debug)]
pub(super) struct InFlight(Activity);

impl Drop for InFlight {
    fn drop(&mut self) {
        let Activity(counts) = &self.0;
        counts.moves.fetch_add(1, Ordering::Relaxed);
        counts.turns.fetch_add(1, Ordering::Relaxed);
        counts.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_silent_only_a_while_after_its_last_answer() {
        let activity = Activity::default();
        let mark = activity.mark();
        assert!(activity.is_silent_since(mark));
        let request = activity.begin(http::Version::HTTP_11);
        assert!(!activity.is_silent_since(mark), "a request is in flight");
        drop(request);
        assert!(!activity.is_silent_since(mark), "an answer has just ended");
        assert!(activity.is_silent_since(activity.mark()));
        let mark = activity.mark();
        activity.heard();
        assert!(!activity.is_silent_since(mark), "the next request comes in");
    }

    #[tokio::test]
    async fn only_http_2_multiplexes() {
        let activity = Activity::default();
        let old = activity.begin(http::Version::HTTP_11);
        let waits = tokio_test::task::spawn(activity.multiplexes()).poll();
        assert!(waits.is_pending());
        let new = activity.begin(http::Version::HTTP_2);
        activity.multiplexes().await;
        drop((old, new));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_a_request_is_not_idle() {
        let activity = Activity::default();
        let within = Duration::from_secs(60);
        let request = activity.begin(http::Version::HTTP_2);
        let idles = tokio::time::timeout(within * 10, activity.idles(within)).await;
        assert!(idles.is_err(), "idle with a request in flight");
        drop(request);
        let begun = tokio::time::Instant::now();
        activity.idles(within).await;
        assert!(begun.elapsed() >= within, "after {:?}", begun.elapsed());
    }
}
