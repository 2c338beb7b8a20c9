//! What a row is compared with, as scripts can compare it: numbers of 20 digits.

use std::time::Duration;

use tower_affinity_core::Terms;

/// How far in the future another replica's clock may have written; that of
/// [`is_current`](tower_affinity_core::is_current), which has the last word.
const SKEW: Duration = Duration::from_secs(5 * 60);

/// How far above the time in seconds a revision can be; likewise.
const REVISIONS_AHEAD: u64 = 1 << 32;

/// The bounds of a row that counts, and of one that is touched.
#[derive(Debug)]
pub(crate) struct Limits {
    /// It ends later than in this second.
    pub(crate) now: String,
    /// Its session began in this second at the earliest.
    pub(crate) oldest: String,
    /// It was issued, and its session began, in this second at the latest.
    pub(crate) latest: String,
    /// The greatest revision that it can have.
    pub(crate) revision: String,
    /// It is not due for a touch if it was issued later than in this second.
    pub(crate) due: String,
}

impl Limits {
    pub(crate) fn new(Terms { now, lifetimes }: Terms) -> Self {
        let seconds = now.as_secs();
        // a session that began in this second or before is over, or used for long enough
        let up_to = |span: Duration| {
            let span = u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
            Some(now.as_millis().checked_sub(span)? / 1_000)
        };
        let over = up_to(lifetimes.max_age());
        // nothing is older than the epoch; what is not due at all is not due in second 0 either,
        // in which nobody issues anything
        let due = up_to(lifetimes.idle() / 4).unwrap_or_default();
        Self {
            now: digits(seconds),
            oldest: digits(over.map_or(0, |over| over.saturating_add(1))),
            latest: digits(now.plus(SKEW).as_secs()),
            revision: digits(seconds.saturating_add(REVISIONS_AHEAD)),
            due: digits(due),
        }
    }
}

fn digits(number: u64) -> String {
    format!("{number:020}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tower_affinity_core::{Lifetimes, Revision, SessionId, SessionPin, Timestamp, is_current};
    use tower_affinity_testing::{START, id};

    use super::*;

    /// The scripts' bounds say what the rule says, at every millisecond around an edge.
    #[test]
    fn bounds_are_those_of_the_rule() {
        let base = START * 1_000;
        for (idle, age) in [(1_800_000, 14_400_000), (1_001, 2_500), (30_000, 30_000)] {
            let (idle, age) = (Duration::from_millis(idle), Duration::from_millis(age));
            let lifetimes = Lifetimes::new(idle, age).unwrap();
            let began = Timestamp::from_millis(base);
            let mut pin = SessionPin::new(
                SessionId::from_random(7),
                id("a"),
                Revision(1),
                began,
                lifetimes,
            );
            let edges = [
                base + u64::try_from(age.as_millis()).unwrap(),
                base + u64::try_from(idle.as_millis()).unwrap() / 4,
                pin.expires.as_millis(),
                base - 300_000,
            ];
            for now in edges
                .into_iter()
                .flat_map(|edge| edge - 1_100..edge + 1_100)
            {
                let now = Timestamp::from_millis(now);
                let terms = Terms { now, lifetimes };
                let limits = Limits::new(terms);
                let at = |time: Timestamp| digits(time.as_secs());
                for expires in [pin.expires, began.plus(age * 2)] {
                    pin.expires = expires;
                    let counts = at(pin.expires) > limits.now
                        && at(pin.started) >= limits.oldest
                        && at(pin.started) <= limits.latest
                        && at(pin.issued) <= limits.latest
                        && digits(pin.revision.0) <= limits.revision;
                    assert_eq!(counts, is_current(&pin, terms).is_ok(), "{now:?} {idle:?}");
                }
                let used = now.since(pin.issued) >= idle / 4;
                assert_eq!(at(pin.issued) <= limits.due, used, "{now:?} {idle:?}");
            }
        }
    }
}
