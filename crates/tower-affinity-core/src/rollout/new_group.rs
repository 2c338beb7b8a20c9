//! [`NewGroup`]: a group as a configuration or a test writes it down.

use crate::{Abort, AbortPolicy, Group, GroupId, GroupName, State, Timestamp, Weight};

/// A group as a configuration writes it down.
#[derive(Clone, Debug)]
pub struct NewGroup {
    name: GroupName,
    weight: Weight,
    stable: bool,
    state: NewState,
    compatible_with: Vec<GroupName>,
}

#[derive(Clone, Debug)]
enum NewState {
    Staged,
    Active,
    Draining,
    Aborted { to: GroupName },
    Retired,
}

impl NewGroup {
    /// An active group with that weight.
    #[must_use]
    pub fn active(name: GroupName, weight: Weight) -> Self {
        Self {
            name,
            weight,
            stable: false,
            state: NewState::Active,
            compatible_with: Vec::new(),
        }
    }

    /// A group that takes no new session yet.
    #[must_use]
    pub fn staged(name: GroupName) -> Self {
        Self::idle(name, NewState::Staged)
    }

    /// A group that takes no new session any more.
    #[must_use]
    pub fn draining(name: GroupName) -> Self {
        Self::idle(name, NewState::Draining)
    }

    /// A group whose sessions are moved to `to`.
    #[must_use]
    pub fn aborted(name: GroupName, to: GroupName) -> Self {
        Self::idle(name, NewState::Aborted { to })
    }

    /// A group that is gone.
    #[must_use]
    pub fn retired(name: GroupName) -> Self {
        Self::idle(name, NewState::Retired)
    }

    /// The same group as the stable one.
    #[must_use]
    pub fn stable(self) -> Self {
        Self {
            stable: true,
            ..self
        }
    }

    /// The same group, able to serve the sessions of these as well; by default of none. See
    /// [`Rollout::declare`](crate::Rollout::declare).
    #[must_use]
    pub fn compatible_with(self, groups: impl IntoIterator<Item = GroupName>) -> Self {
        Self {
            compatible_with: groups.into_iter().collect(),
            ..self
        }
    }

    pub(super) fn is_stable(&self) -> bool {
        self.stable
    }

    pub(super) fn name(&self) -> &GroupName {
        &self.name
    }

    pub(super) fn build(&self, now: Timestamp) -> Group {
        let state = match &self.state {
            NewState::Staged => State::Staged,
            NewState::Active => State::Active,
            NewState::Draining => State::Draining { since: now },
            NewState::Retired => State::Retired { at: now },
            NewState::Aborted { to } => State::Aborted(Abort {
                target: GroupId::new(to.clone(), 1),
                policy: AbortPolicy::Move,
                at: now,
            }),
        };
        Group {
            id: GroupId::new(self.name.clone(), 1),
            state,
            weight: self.weight,
            compatible_with: self.compatible_with.clone(),
        }
    }

    fn idle(name: GroupName, state: NewState) -> Self {
        Self {
            name,
            weight: Weight::ZERO,
            stable: false,
            state,
            compatible_with: Vec::new(),
        }
    }
}
