//! What the clients have met.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

/// Everything that is counted, and how it is told to machines.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Counts {
    /// Sessions that began.
    pub(super) sessions: u64,
    /// Of them, those that broke before the abort.
    pub(super) broken_in_rollout: u64,
    /// Sessions that another commit went on with.
    pub(super) moved: u64,
    pub(super) max_moves_per_session: u64,
    /// Flows that began anew because their session was moved by the abort.
    pub(super) restarted_after_abort: u64,
    /// Sessions that broke after it.
    pub(super) broken_after_abort: u64,
    /// Requests that another process has served than the one that was reached.
    pub(super) forwarded: u64,
}

/// The counts, shared by all clients.
#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    counts: Counts,
    aborted: bool,
    /// Why sessions broke; the first few are told.
    reasons: Vec<String>,
}

/// The most reasons that are kept.
const MOST_REASONS: usize = 5;

impl Tally {
    /// From now on the commit is aborted.
    pub(super) fn abort(&self) {
        self.state().aborted = true;
    }

    pub(super) fn begin(&self) {
        self.state().counts.sessions += 1;
    }

    pub(super) fn forwarded(&self) {
        self.state().counts.forwarded += 1;
    }

    pub(super) fn restarted(&self) {
        self.state().counts.restarted_after_abort += 1;
    }

    /// A session has changed its commit for the `moves`th time.
    pub(super) fn moved(&self, moves: u64) {
        let counts = &mut self.state().counts;
        counts.moved += u64::from(moves == 1);
        counts.max_moves_per_session = counts.max_moves_per_session.max(moves);
    }

    pub(super) fn broke(&self, why: String) {
        let mut state = self.state();
        if state.aborted {
            state.counts.broken_after_abort += 1;
        } else {
            state.counts.broken_in_rollout += 1;
        }
        if state.reasons.len() < MOST_REASONS {
            state.reasons.push(why);
        }
    }

    pub(super) fn counts(&self) -> Counts {
        self.state().counts.clone()
    }

    pub(super) fn reasons(&self) -> Vec<String> {
        self.state().reasons.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // numbers that were added one by one are right even after another thread panicked
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Whether it is what commit affinity claims.
    pub(super) fn holds(&self) -> bool {
        self.broken_in_rollout == 0 && self.max_moves_per_session <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn a_session_that_breaks_before_the_abort_or_moves_twice_fails_the_show() {
        let tally = Tally::default();
        assert!(tally.counts().holds());
        tally.moved(1);
        tally.moved(1);
        tally.abort();
        tally.broke("late".to_owned());
        let counts = tally.counts();
        assert_eq!((counts.moved, counts.max_moves_per_session), (2, 1));
        assert_eq!(
            (counts.broken_in_rollout, counts.broken_after_abort),
            (0, 1)
        );
        assert!(counts.holds());
        tally.moved(2);
        assert!(!tally.counts().holds(), "a session moved twice");
        let tally = Tally::default();
        tally.broke("early".to_owned());
        assert!(!tally.counts().holds(), "a session broke in the rollout");
    }
}
