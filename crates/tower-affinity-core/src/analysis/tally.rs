//! [`Tally`]: what is counted of one group since a step of the rollout.

use crate::{Revision, Timestamp};

/// Counts of one group since one step of the rollout.
///
/// `sessions` to `slow` are of cohort `current`: sessions that the draw assigned to the group since
/// the step and that were answered, each counted once. `requests` and `failed_requests` are of *all*
/// requests that the group answered since the step, in whatever cohort: what a comparison sees that
/// knows nothing of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tally {
    /// Sessions.
    pub sessions: u64,
    /// Those of them that have failed: a 5xx, or the application said so.
    pub failed: u64,
    /// Those of them that have reached their aim, as the application said.
    pub completed: u64,
    /// Those of them with an answer whose head took longer than the threshold.
    pub slow: u64,
    /// Requests.
    pub requests: u64,
    /// Those of them that failed.
    pub failed_requests: u64,
}

impl Tally {
    /// Both together: of two replicas, or of two spans of time. Sums stop at [`u64::MAX`].
    #[must_use]
    pub const fn merge(self, other: Self) -> Self {
        Self {
            sessions: self.sessions.saturating_add(other.sessions),
            failed: self.failed.saturating_add(other.failed),
            completed: self.completed.saturating_add(other.completed),
            slow: self.slow.saturating_add(other.slow),
            requests: self.requests.saturating_add(other.requests),
            failed_requests: self.failed_requests.saturating_add(other.failed_requests),
        }
    }
}

/// A tally, and which step it counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTally {
    /// The revision of the step.
    pub step: Revision,
    /// Since when it is counted: later than the step where a process began after that.
    pub since: Timestamp,
    /// The counts.
    pub tally: Tally,
}

impl StepTally {
    /// Both together, from the earlier of both times on; `None` if they count from two steps.
    #[must_use]
    pub fn merge(self, other: Self) -> Option<Self> {
        (self.step == other.step).then(|| Self {
            step: self.step,
            since: self.since.min(other.since),
            tally: self.tally.merge(other.tally),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn the_tallies_of_two_replicas_add_up() {
        let one = Tally {
            sessions: 10,
            failed: 1,
            completed: 5,
            slow: 2,
            requests: 40,
            failed_requests: 3,
        };
        let both = one.merge(Tally {
            sessions: 7,
            failed: 2,
            completed: 4,
            slow: 1,
            requests: u64::MAX,
            failed_requests: 6,
        });
        let expected = Tally {
            sessions: 17,
            failed: 3,
            completed: 9,
            slow: 3,
            requests: u64::MAX,
            failed_requests: 9,
        };
        assert_eq!(both, expected, "a sum is wrong, or has wrapped");
    }
}
