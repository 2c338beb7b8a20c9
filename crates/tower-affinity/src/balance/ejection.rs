//! An endpoint whose requests fail is left alone for a while, so that the power of two choices does
//! not prefer what fails fastest; then one request tries it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use tower_affinity_core::Timestamp;

use super::balancing::EjectionPolicy;

/// Why an endpoint was ejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EjectionReason {
    /// It could not be reached.
    Connect,
    /// Too many requests in a row timed out, broke off or were answered 502, 503 or 504.
    Failures,
    /// It serves another group.
    WrongGroup,
}

impl EjectionReason {
    /// All reasons, for closed label sets.
    pub const ALL: [Self; 3] = [Self::Connect, Self::Failures, Self::WrongGroup];

    /// The word in labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Failures => "failures",
            Self::WrongGroup => "wrong_group",
        }
    }
}

/// What an endpoint's requests say of it.
#[derive(Debug, Default)]
pub(super) struct Ejection {
    /// Failures in a row.
    failures: AtomicU32,
    /// Ejections in a row.
    times: AtomicU32,
    /// Milliseconds since the epoch; 0 while it is not ejected.
    until: AtomicU64,
    /// Grows with each ejection and each return: what began before says nothing new.
    epoch: AtomicU32,
    probing: AtomicBool,
}

impl Ejection {
    pub(super) fn is_on(&self) -> bool {
        self.until.load(Ordering::Relaxed) != 0
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Whether it is time to try it, and nobody else does.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        until != 0 && until <= now.as_millis() && !self.probing.load(Ordering::Relaxed)
    }

    /// Takes the right to try it, if it is time and nobody else does.
    pub(super) fn probe(&self, now: Timestamp) -> bool {
        self.is_due(now) && !self.probing.swap(true, Ordering::Relaxed)
    }

    /// Gives the right to try it back.
    pub(super) fn probed(&self) {
        self.probing.store(false, Ordering::Relaxed);
    }

    /// Whether one more failure in a row is too many.
    pub(super) fn fails(&self, policy: &EjectionPolicy) -> bool {
        let before = self.failures.load(Ordering::Relaxed);
        self.failures
            .store(before.saturating_add(1), Ordering::Relaxed);
        self.is_on() || before.saturating_add(1) >= policy.failures
    }

    /// Ejects it, or leaves it out for longer. Answers for how long, `None` if it still is out.
    pub(super) fn begin(&self, policy: &EjectionPolicy, now: Timestamp) -> Option<Duration> {
        if now.as_millis() < self.until.load(Ordering::Relaxed) {
            // one of several that were sent together: it says nothing new
            return None;
        }
        let times = self.times.load(Ordering::Relaxed);
        self.times.store(times.saturating_add(1), Ordering::Relaxed);
        let span = policy.base.saturating_mul(1 << times.min(30));
        let span = span.min(policy.max.max(policy.base));
        self.until
            .store(now.plus(span).as_millis(), Ordering::Relaxed);
        self.epoch.fetch_add(1, Ordering::Relaxed);
        Some(span)
    }

    /// A request that began in `epoch` was served. Answers whether that ends an ejection.
    pub(super) fn succeeds(&self, epoch: u32) -> bool {
        if self.failures.load(Ordering::Relaxed) != 0 && epoch == self.epoch() {
            self.failures.store(0, Ordering::Relaxed);
        }
        if !self.is_on() || epoch != self.epoch() {
            return false;
        }
        self.times.store(0, Ordering::Relaxed);
        self.failures.store(0, Ordering::Relaxed);
        let ends = self.until.swap(0, Ordering::Relaxed) != 0;
        if ends {
            self.epoch.fetch_add(1, Ordering::Relaxed);
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ejections_grow_with_failures_in_a_row_and_end_with_an_answer() {
        let ejection = Ejection::default();
        let policy = EjectionPolicy {
            max: Duration::from_secs(30),
            ..EjectionPolicy::default()
        };
        let mut now = Timestamp::from_secs(1_800_000_000);
        let mut spans = Vec::new();
        for _ in 0..8 {
            let span = ejection
                .begin(&policy, now)
                .expect("a failure after an ejection begins another");
            assert_eq!(
                ejection.begin(&policy, now),
                None,
                "two failures at once are one"
            );
            assert!(!ejection.probe(now), "it was tried before its time");
            spans.push(span.as_secs());
            now = now.plus(span);
            assert!(ejection.probe(now), "it was not tried in time");
            assert!(!ejection.probe(now), "two try it at once");
            ejection.probed();
        }
        assert_eq!(spans, [1, 2, 4, 8, 16, 30, 30, 30]);
        let epoch = ejection.epoch();
        assert!(
            !ejection.succeeds(epoch - 1),
            "an answer to what was sent before the ejection ended it"
        );
        assert!(ejection.succeeds(epoch) && !ejection.succeeds(epoch));
        assert_eq!(ejection.begin(&policy, now), Some(policy.base));
    }

    #[test]
    fn only_failures_in_a_row_eject() {
        let ejection = Ejection::default();
        let policy = EjectionPolicy::default();
        for _ in 0..20 {
            for _ in 0..4 {
                assert!(!ejection.fails(&policy));
            }
            assert!(!ejection.succeeds(ejection.epoch()));
        }
        assert_eq!((0..5).filter(|_| ejection.fails(&policy)).count(), 1);
    }
}
