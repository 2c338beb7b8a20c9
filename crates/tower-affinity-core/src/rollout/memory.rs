//! What a rollout remembers of groups that are gone, and for how long.

use super::{Change, Rollout, TOMBSTONE_GRACE, Tombstone};
use crate::{Group, GroupId, State, Timestamp, Weight};

impl Rollout {
    /// The next state before anything is changed in it: old memories are dropped.
    pub(crate) fn next(&self, change: Change) -> Self {
        let mut next = self.clone();
        next.revision = change.revision;
        next.tombstones
            .retain(|tombstone| change.now < tombstone.until);
        let forgotten = |at: Timestamp| change.now >= at.plus(change.max_age).plus(TOMBSTONE_GRACE);
        next.groups
            .retain(|g| !matches!(g.state, State::Retired { at } if forgotten(at)));
        next.former
            .retain(|name| next.groups.iter().any(|group| group.name() == name));
        next
    }

    /// Puts the next generation in the place of `old`, which may be forgotten here already.
    pub(super) fn bring_back(&mut self, old: &Group, change: Change) {
        self.groups.retain(|group| group.id != old.id);
        self.bury(old, change);
        let id = GroupId::new(old.name().clone(), old.id.generation().saturating_add(1));
        self.groups.push(Group {
            id,
            state: State::Staged,
            weight: Weight::ZERO,
            compatible_with: old.compatible_with.clone(),
        });
    }

    pub(super) fn bury(&mut self, group: &Group, change: Change) {
        let aborted = match &group.state {
            State::Aborted(abort) => Some(abort.clone()),
            _ => None,
        };
        self.tombstones.push(Tombstone {
            id: group.id.clone(),
            aborted,
            until: change.now.plus(change.max_age).plus(TOMBSTONE_GRACE),
        });
    }
}
