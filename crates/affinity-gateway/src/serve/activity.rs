//! What happens on one connection, as far as its end has to know.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::ending::{Ending, Word};

/// Counts what goes on on a connection. A clone is another handle to the same counts.
///
/// Its stream and its service are moved by one task, so that most of it has one writer: plain
/// writes, which cost next to nothing. Only answers may end elsewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// How many requests began, and how many of their answers have ended.
    begun: AtomicU64,
    ended: AtomicU64,
    /// How many times a client sent something.
    heard: AtomicU64,
    /// Whether something waits for the client to take it.
    waits: AtomicBool,
    /// Whether the client took nothing for too long.
    stalled: AtomicBool,
    ending: Ending,
}

impl Activity {
    /// Nothing yet, on a connection that ends with `ending`.
    pub(super) fn new(ending: Ending) -> Self {
        Self(Arc::new(Counts {
            ending,
            ..Counts::default()
        }))
    }

    /// Bytes came from the client.
    pub(super) fn heard(&self) {
        add_one(&self.0.heard);
    }

    /// A request began; it is in flight until the answer is dropped.
    pub(super) fn begin(&self) -> InFlight {
        add_one(&self.0.begun);
        InFlight(self.clone())
    }

    /// Whether a request is in flight, or a part of an answer is still to be taken.
    pub(super) fn is_busy(&self) -> bool {
        let Counts {
            begun,
            ended,
            waits,
            ..
        } = &*self.0;
        begun.load(Ordering::Relaxed) != ended.load(Ordering::Relaxed)
            || waits.load(Ordering::Relaxed)
    }

    /// Something waits for the client to take it, or no longer.
    pub(super) fn wait(&self, waits: bool) {
        self.0.waits.store(waits, Ordering::Relaxed);
    }

    /// The client took nothing for too long.
    pub(super) fn stall(&self) {
        self.0.stalled.store(true, Ordering::Relaxed);
    }

    /// Whether the client took nothing for too long.
    pub(super) fn is_stalled(&self) -> bool {
        self.0.stalled.load(Ordering::Relaxed)
    }

    /// Grows with each request and each answer that ends.
    pub(super) fn turns(&self) -> u64 {
        let Counts { begun, ended, .. } = &*self.0;
        begun.load(Ordering::Relaxed) + ended.load(Ordering::Relaxed)
    }

    /// Grows with all that a client sends and with each answer that ends.
    pub(super) fn moves(&self) -> u64 {
        let Counts { heard, ended, .. } = &*self.0;
        heard.load(Ordering::Relaxed) + ended.load(Ordering::Relaxed)
    }
}

/// One request whose answer has not ended.
#[derive(Debug)]
pub(super) struct InFlight(Activity);

impl InFlight {
    /// Whether its connection is to begin nothing more.
    pub(super) fn is_last(&self) -> bool {
        let Self(Activity(counts)) = self;
        counts.ending.word() != Word::Serve
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let Self(Activity(counts)) = self;
        counts.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// Of a count that one task alone writes.
fn add_one(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_silent_only_a_while_after_its_last_answer() {
        let activity = Activity::default();
        let is_silent_since = |mark| !activity.is_busy() && activity.moves() == mark;
        let mark = activity.moves();
        assert!(is_silent_since(mark));
        let request = activity.begin();
        assert!(!is_silent_since(mark), "a request is in flight");
        drop(request);
        assert!(!is_silent_since(mark), "an answer has just ended");
        assert!(is_silent_since(activity.moves()));
        let mark = activity.moves();
        activity.heard();
        assert!(!is_silent_since(mark), "the next request comes in");
    }
}
