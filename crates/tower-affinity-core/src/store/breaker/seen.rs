//! What a breaker has seen of its store.

use std::time::Duration;

use super::Breaker;
use crate::Timestamp;

/// How calls have ended of late.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// The second of the last one, and those that ended in it.
    second: u64,
    calls: u32,
    failures: u32,
    /// Those that have failed since one has succeeded.
    failing: Option<Failing>,
}

/// Calls in a row that have failed, each less than a second after the one before.
#[derive(Clone, Copy, Debug)]
struct Failing {
    since: Timestamp,
    last: Timestamp,
    failures: u32,
}

impl Seen {
    /// Counts a call. Whether so many have failed that the store is to be left alone.
    pub(super) fn count(&mut self, ok: bool, now: Timestamp) -> bool {
        if self.second != now.as_secs() {
            (self.second, self.calls, self.failures) = (now.as_secs(), 0, 0);
        }
        self.calls += 1;
        if ok {
            self.failing = None;
            return false;
        }
        self.failures += 1;
        let before = self.failing.filter(|failing| failing.goes_on(now));
        let failing = Failing {
            since: before.map_or(now, |before| before.since),
            last: now,
            failures: before.map_or(0, |before| before.failures) + 1,
        };
        self.failing = Some(failing);
        let is_silent = now.since(failing.since) >= Breaker::SILENCE;
        self.failures >= Breaker::FAILURES && self.failures * 2 >= self.calls
            || failing.failures >= Breaker::FAILURES && is_silent
    }
}

impl Failing {
    fn goes_on(&self, now: Timestamp) -> bool {
        now.since(self.last) < Duration::from_secs(1)
    }
}
