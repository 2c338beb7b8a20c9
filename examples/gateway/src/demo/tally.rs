//! What the clients saw, counted as it happens.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The counters of one act, fed by all of its sessions.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<Counts>);

/// A moment of a tally. A session is started once, and ends as finished or broken.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) started: u64,
    pub(crate) finished: u64,
    /// Sessions that ended in a refused step, an error or no answer.
    pub(crate) broken: u64,
    /// Sessions that were answered by more than one commit.
    pub(crate) moved: u64,
    /// Sessions that the flow began anew because they were moved.
    pub(crate) restarted: u64,
    /// Of the session that changed its commit most often.
    pub(crate) most_moves: u64,
    pub(crate) requests: BTreeMap<String, u64>,
    pub(crate) first_break: Option<String>,
}

/// One session as it goes on: the commit that answered last, and how often it changed.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    tally: &'a Tally,
    commit: Option<String>,
    moves: u64,
    restarts: u64,
}

impl Tally {
    pub(crate) fn begin(&self) -> Session<'_> {
        self.counts().started += 1;
        Session {
            tally: self,
            commit: None,
            moves: 0,
            restarts: 0,
        }
    }

    pub(crate) fn now(&self) -> Counts {
        self.counts().clone()
    }

    // A client that panicked must not hide what the others saw.
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session<'_> {
    /// Enters an answer of `commit`; another commit than before is a move.
    pub(crate) fn answered(&mut self, commit: &str) {
        let mut counts = self.tally.counts();
        *counts.requests.entry(commit.to_owned()).or_default() += 1;
        let before = self.commit.replace(commit.to_owned());
        if before.is_some_and(|before| before != commit) {
            self.moves += 1;
            counts.moved += u64::from(self.moves == 1);
            counts.most_moves = counts.most_moves.max(self.moves);
        }
    }

    pub(crate) fn restarted(&mut self) {
        self.restarts += 1;
        self.tally.counts().restarted += u64::from(self.restarts == 1);
    }

    pub(crate) fn finish(self) {
        self.tally.counts().finished += 1;
    }

    pub(crate) fn broke(self, why: String) {
        let mut counts = self.tally.counts();
        counts.broken += 1;
        counts.first_break.get_or_insert(why);
    }
}

impl Counts {
    /// Sessions that are under way.
    pub(crate) fn open(&self) -> u64 {
        self.started.saturating_sub(self.finished + self.broken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_moves_twice_is_one_moved_session() {
        let tally = Tally::default();
        let mut session = tally.begin();
        for commit in ["a", "a", "b", "b", "a"] {
            session.answered(commit);
        }
        session.broke("no such node".to_owned());
        let mut steady = tally.begin();
        steady.answered("a");
        steady.finish();
        let counts = tally.now();
        assert_eq!((counts.started, counts.finished, counts.broken), (2, 1, 1));
        assert_eq!((counts.moved, counts.most_moves, counts.open()), (1, 2, 0));
        assert_eq!(
            counts.requests,
            [("a".to_owned(), 4), ("b".to_owned(), 2)].into()
        );
        assert_eq!(counts.first_break.as_deref(), Some("no such node"));
    }
}
