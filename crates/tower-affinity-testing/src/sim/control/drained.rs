//! When a group that drains has no session left.

use tower_affinity_core::{State as GroupState, Timestamp};

use crate::sim::names::{SKEW, TA, id_of};
use crate::sim::parts::Order;
use crate::sim::replica::State;
use crate::sim::world::{Source, World};

impl World<'_> {
    /// When the group of a retirement is drained at the latest; `None` if it does not drain or the
    /// answer means nothing, since other replicas with files of their own still use it.
    pub(crate) fn drained_by(
        &self,
        state: &State,
        order: &Order,
        replica: Option<usize>,
    ) -> Option<Timestamp> {
        let Order::Retire { group, .. } = order else {
            return None;
        };
        let name = crate::sim::names::name_of(*group);
        let group = state.rollout.group(name)?;
        let GroupState::Draining { since } = group.state() else {
            return None;
        };
        let id = id_of(group.id());
        match (self.source, replica) {
            (Source::Engine, _) => {
                let known = self
                    .replicas
                    .iter()
                    .map(|replica| match replica.draining.get(&id) {
                        Some((of, known)) if of == since => Some(*known),
                        _ => None,
                    });
                let all_know = known
                    .collect::<Option<Vec<_>>>()
                    .and_then(|all| all.into_iter().max());
                Some(match all_know {
                    Some(moment) => self
                        .parts
                        .drained_by(Timestamp::from_millis(moment), TA, SKEW),
                    None => Timestamp::from_millis(u64::MAX),
                })
            }
            (Source::Files, _) if self.replicas.len() == 1 => {
                Some(self.parts.drained_by(*since, TA, std::time::Duration::ZERO))
            }
            // only all files together could tell
            (Source::Files, _) => Some(Timestamp::from_millis(u64::MAX)),
        }
    }
}
