//! Whether the real rollout is as the model says.

use tower_affinity_core::{Rollout, State, Status};

use super::{Abort, Group, Life, Model};
use crate::sim::names::{GROUPS, Id, id_of, ids_of, number_of};

impl Model {
    /// What of the real rollout is not as it has to be.
    pub(crate) fn objection(&self, real: &Rollout) -> Option<String> {
        if real.revision().0 != self.revision || number_of(real.stable()) != self.stable {
            return Some(format!(
                "revision {}, stable {}",
                real.revision(),
                real.stable()
            ));
        }
        if (real.draw_revision().0, real.is_locked()) != (self.drawn, self.locked) {
            let drawn = real.draw_revision();
            return Some(format!("drawn at {drawn}, locked: {}", real.is_locked()));
        }
        for n in 0..GROUPS as u8 {
            let seen = real
                .groups()
                .iter()
                .find(|group| number_of(group.name()) == n);
            let seen = seen.map(|group| Group {
                generation: group.id().generation(),
                weight: u64::from(group.weight().get()),
                life: match group.state() {
                    State::Staged => Life::Staged,
                    State::Active => Life::Active,
                    State::Draining { .. } => Life::Draining,
                    State::Aborted(_) => Life::Aborted,
                    State::Retired { at } => Life::Retired(at.as_millis()),
                },
            });
            if seen.as_ref() != self.group(n) {
                return Some(format!("g{n} is {seen:?}, not {:?}", self.group(n)));
            }
        }
        let known = ids_of(real);
        if let Some(id) = self.aborts.keys().find(|id| !known.contains(id)) {
            return Some(format!("the abort of {id:?} is forgotten"));
        }
        for id in known {
            let seen = real.ids().find(|known| id_of(known) == id)?;
            let abort = match real.status(seen) {
                Status::Aborted(abort) => Some(Abort {
                    target: id_of(&abort.target),
                    policy: abort.policy,
                }),
                Status::Serving(_) | Status::Gone => None,
            };
            if abort != self.aborts.get(&id).map(|(abort, _)| *abort) {
                return Some(format!("the abort of {id:?} is {abort:?}"));
            }
        }
        None
    }

    /// Whether the real rollout remembers too much or too little.
    pub(crate) fn remembers(&self, real: &Rollout) -> bool {
        let current = (0_u8..)
            .zip(&self.groups)
            .filter_map(|(n, group)| Some((n, group.as_ref()?.generation)));
        let mut ids: Vec<Id> = current.chain(self.buried.keys().copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids == ids_of(real)
    }
}
