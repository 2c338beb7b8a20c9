//! What happened to each session: the second oracle, which knows nothing of any rule.

use std::collections::HashMap;

use super::names::Id;

#[derive(Debug, Default)]
pub(super) struct Session {
    /// From where to where aborts moved it.
    pub(super) edges: Vec<(Id, Id)>,
    /// Groups that it has left for good, as its client knows from a pin that it holds.
    pub(super) left: Vec<Id>,
    /// It was moved by a replica that had given up waiting for a newer state, which may know less
    /// than the pin, or by an abort that only this replica knew: the rules then allow a step back.
    pub(super) given_up: bool,
    /// The revision of the last pin that each replica issued.
    pub(super) issued: [u64; 3],
}

#[derive(Debug)]
pub(super) struct History {
    pub(super) sessions: HashMap<u128, Session>,
}

impl History {
    pub(super) fn of(&mut self, session: u128) -> &mut Session {
        self.sessions.entry(session).or_default()
    }

    /// Nothing is promised of an abort that the engine has lost.
    pub(super) fn release(&mut self, id: Id) {
        for session in self.sessions.values_mut() {
            session.left.retain(|left| *left != id);
            session.edges.retain(|(from, _)| *from != id);
        }
    }
}
