//! What is left of a group: pins that may be valid, and what is open.

use tower_affinity::core::{Group, GroupName, Left, Refusal, Rollout, State};

use super::Control;
use super::terms::Terms;

impl Control {
    /// What is left of a group of the present rollout, at all replicas.
    #[must_use]
    pub fn left(&self, group: &Group) -> Left {
        let live = self.live();
        self.fleet_of(&live).left(group, live.bounds())
    }
}

/// Retires a group; a draining one has to be drained, unless `force`.
pub(super) fn retire(
    rollout: &Rollout,
    name: &GroupName,
    force: bool,
    terms: &Terms<'_>,
) -> Result<Rollout, Refusal> {
    let next = rollout.retire(name, None, true, terms.change)?;
    let draining = rollout.group(name);
    let draining = draining.filter(|group| matches!(group.state(), State::Draining { .. }));
    let left = draining.map(|group| terms.fleet.left(group, terms.bounds));
    match left.and_then(|left| left.objection(name, terms.change.now)) {
        Some(refusal) if !force => Err(refusal),
        _ => Ok(next),
    }
}
