//! What a replica knows of a group, and sees of it.

use tower_affinity_core::AbortPolicy;

use super::Sight;
use crate::sim::ledger::Entry;
use crate::sim::model::{Life, Model};
use crate::sim::names::{GROUPS, Id, Millis};

impl Model {
    /// Groups that a draw may fall on.
    pub(super) fn drawn(&self, sight: &Sight) -> Vec<Id> {
        let takes = |n: &u8| {
            let group = self.group(*n);
            group.is_some_and(|group| group.life == Life::Active && group.weight > 0)
                && sight.down[usize::from(*n)].is_none()
        };
        (0..GROUPS as u8)
            .filter(takes)
            .map(|n| self.id(n))
            .collect()
    }

    pub(super) fn is_lost(&self, n: u8, sight: &Sight) -> bool {
        let out = |n: u8| {
            sight.down[usize::from(n)]
                .is_some_and(|since| sight.now.saturating_sub(since) >= 10_000)
        };
        let serving: Vec<u8> = (0..GROUPS as u8)
            .filter(|n| {
                matches!(
                    self.group(*n).map(|g| g.life),
                    Some(Life::Active | Life::Draining)
                )
            })
            .collect();
        out(n) && 2 * serving.iter().filter(|n| out(**n)).count() <= serving.len()
    }

    pub(crate) fn is_serving(&self, id: Id) -> bool {
        let lives = matches!(
            self.group(id.0).map(|group| group.life),
            Some(Life::Staged | Life::Active | Life::Draining)
        );
        self.is_current(id) && lives
    }

    pub(super) fn drains(&self, id: Id) -> bool {
        self.is_current(id) && self.group(id.0).is_some_and(|g| g.life == Life::Draining)
    }

    /// Whether a session of `id` could leave it, as far as its replica sees.
    pub(crate) fn may_leave(&self, id: Id, sight: &Sight) -> bool {
        self.drains(id) && sight.down[usize::from(self.stable)].is_none()
    }

    pub(super) fn holds(&self, pin: &Entry, sight: &Sight) -> bool {
        pin.released && pin.revision <= self.revision && !self.may_leave(pin.id, sight)
    }

    pub(super) fn stays(policy: AbortPolicy, now: Millis) -> bool {
        matches!(policy, AbortPolicy::Stay { until } if now < until.as_millis())
    }

    /// Whether `id` is aborted here and its sessions do not stay any more.
    pub(crate) fn is_out(&self, id: Id, now: Millis) -> bool {
        self.aborts
            .get(&id)
            .is_some_and(|(abort, _)| !Self::stays(abort.policy, now))
    }
}
