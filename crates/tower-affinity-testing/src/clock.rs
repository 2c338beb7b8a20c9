//! A clock that only a test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tower_affinity_core::{Clock, Timestamp};

/// A clock that stands still until it is moved by hand. Its clones are the same clock.
#[derive(Clone, Debug)]
pub struct HandClock(Arc<AtomicU64>);

impl HandClock {
    /// A clock that shows `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self(Arc::new(AtomicU64::new(now.as_millis())))
    }

    /// Moves it on by `span`.
    pub fn advance(&self, span: Duration) {
        let now = self.now().plus(span);
        self.0.store(now.as_millis(), Ordering::SeqCst);
    }

    /// Makes it show `now`, also an earlier time than before.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_millis(), Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
