//! [`Tally`]: what is counted of one group since a step of the rollout.

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
