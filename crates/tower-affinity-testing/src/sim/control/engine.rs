//! The engine: what it holds, what it loses, and whom it tells.

use std::rc::Rc;

use crate::sim::names::Id;
use crate::sim::replica::State;
use crate::sim::world::{Event, Source, World};

/// How many earlier states there are backups of.
const BACKUPS: usize = 6;

impl World<'_> {
    /// A replica has written a state: all are told.
    pub(super) fn replace(&mut self, next: &Rc<State>) {
        let before = Rc::clone(&self.head);
        if self.backups.len() == BACKUPS {
            self.backups.pop_front();
        }
        self.backups.push_back(before);
        self.hold(next);
        for replica in 0..self.replicas.len() {
            self.send(replica, next);
        }
    }

    /// The engine is set back to a backup. Whoever watches it reads anew.
    pub(super) fn set_back(&mut self) {
        if self.source == Source::Files || self.backups.is_empty() {
            return;
        }
        let at = self.dice.below(self.backups.len());
        self.backups.truncate(at + 1);
        let Some(backup) = self.backups.pop_back() else {
            return;
        };
        self.trace.tell(|| {
            let revision = backup.rollout.revision();
            format!("the engine is set back to revision {revision}")
        });
        self.hold(&backup);
        self.queue
            .retain(|_, event| !matches!(event, Event::Deliver(..)));
        for replica in 0..self.replicas.len() {
            let delay = self.any_delay();
            self.after(delay, Event::Reread(replica));
        }
    }

    /// What is promised of the aborts in the engine's state from now on.
    fn hold(&mut self, next: &Rc<State>) {
        let lost = |id: &Id| !next.model.aborts.contains_key(id);
        let lost: Vec<Id> = self.promised.keys().copied().filter(lost).collect();
        for id in lost {
            self.promised.remove(&id);
            self.history.release(id);
        }
        for id in next.model.aborts.keys() {
            let ignorant = self.replicas.iter().map(|replica| &replica.shared.model);
            let ignorant = ignorant.filter(|model| !model.aborts.contains_key(id));
            let most = ignorant.map(|model| model.revision + 1).max();
            let from = next.model.revision.max(most.unwrap_or_default());
            self.promised.entry(*id).or_insert(from);
        }
        self.drained.retain(|id, _| !next.model.is_serving(*id));
        self.head = Rc::clone(next);
    }
}
