//! An endpoint that could not be reached is left alone for a while, so that the power of two
//! choices does not prefer what fails fastest.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tower_affinity_core::Timestamp;

/// The first rest; each further failure in a row doubles it.
const FIRST: Duration = Duration::from_secs(1);

/// The longest rest.
const LONGEST: Duration = Duration::from_secs(30);

/// Since when and for how long an endpoint could not be reached.
#[derive(Debug, Default)]
pub(super) struct Rest {
    failures: AtomicU32,
    /// Milliseconds since the epoch; 0 for an endpoint that was reached last.
    until: AtomicU64,
}

impl Rest {
    /// Whether it could not be reached last: only then is it worth to look at the clock.
    pub(super) fn may_be_on(&self) -> bool {
        self.until.load(Ordering::Relaxed) != 0
    }

    pub(super) fn is_on(&self, now: Timestamp) -> bool {
        now.as_millis() < self.until.load(Ordering::Relaxed)
    }

    /// It could not be reached. Answers how long it rests, if it does not already.
    pub(super) fn begin(&self, now: Timestamp) -> Option<Duration> {
        if self.is_on(now) {
            // one of several that were sent together: it says nothing new
            return None;
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed);
        let rest = FIRST.saturating_mul(1 << failures.min(8)).min(LONGEST);
        self.until
            .store(now.plus(rest).as_millis(), Ordering::Relaxed);
        Some(rest)
    }

    /// It was reached. Answers whether it could not be before.
    pub(super) fn end(&self) -> bool {
        if !self.may_be_on() {
            return false;
        }
        self.failures.store(0, Ordering::Relaxed);
        self.until.swap(0, Ordering::Relaxed) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_with_failures_in_a_row_and_end_with_an_answer() {
        let rest = Rest::default();
        let mut now = Timestamp::from_secs(1_800_000_000);
        let mut rests = Vec::new();
        for _ in 0..8 {
            let for_long = rest
                .begin(now)
                .expect("a failure after a rest begins another");
            assert_eq!(rest.begin(now), None, "two failures at once are one");
            assert!(rest.is_on(now));
            rests.push(for_long.as_secs());
            now = now.plus(for_long);
            assert!(!rest.is_on(now), "the rest did not end");
        }
        assert_eq!(rests, [1, 2, 4, 8, 16, 30, 30, 30]);
        assert!(rest.end() && !rest.end());
        assert_eq!(rest.begin(now), Some(FIRST));
    }
}
