//! The first state: what the configuration says, where there is no other yet.

use tower_affinity::core::{NewGroup, Revision, Rollout, RolloutError, Timestamp};

use crate::config::{GroupSetting, GroupState, Settings};

pub(crate) fn first_rollout(
    settings: &Settings,
    revision: Revision,
    now: Timestamp,
) -> Result<Rollout, RolloutError> {
    let group = |group: &GroupSetting| {
        let name = group.name.clone();
        let new = match &group.state {
            GroupState::Staged => NewGroup::staged(name),
            GroupState::Active => NewGroup::active(name, group.weight),
            GroupState::Draining => NewGroup::draining(name),
            GroupState::Aborted { to } => NewGroup::aborted(name, to.clone()),
            GroupState::Retired => NewGroup::retired(name),
        };
        if group.stable { new.stable() } else { new }
    };
    Rollout::new(revision, now, settings.groups.iter().map(group))
}
