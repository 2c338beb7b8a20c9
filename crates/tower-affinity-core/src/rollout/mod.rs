//! The rollout: an immutable snapshot of all groups, valid by construction.
//!
//! A valid rollout has exactly one stable group, which is active; only active groups have weight,
//! and the weights do not sum to 0. Changes are functions from snapshot to snapshot
//! ([`Change`]), each with a greater [`Revision`]; whatever they do not allow is a [`Refusal`].

mod abort;
mod change;
mod compatible;
mod document;
mod drained;
mod lock;
mod memory;
mod new_group;
mod refusal;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::time::Duration;

use thiserror::Error;

pub use self::abort::AbortRequest;
pub use self::change::Change;
pub use self::compatible::{Incompatible, MAX_COMPATIBLE};
pub(crate) use self::document::AbortDocument;
pub use self::document::DocumentError;
pub use self::new_group::NewGroup;
pub use self::refusal::Refusal;
use crate::{Abort, Group, GroupId, GroupName, Revision, State, Timestamp, Weight};

/// How long past the greatest age of a pin an old id is remembered: 10 minutes.
///
/// It covers twice the clock skew that is allowed between replicas.
pub const TOMBSTONE_GRACE: Duration = Duration::from_secs(10 * 60);

/// How many former stable groups are remembered as targets of an abort.
const FORMER_STABLE: usize = 8;

/// The state of all groups under one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    revision: Revision,
    step_revision: Revision,
    draw_revision: Revision,
    groups: Vec<Group>,
    stable: GroupName,
    /// Groups that were stable before, the latest last.
    former: Vec<GroupName>,
    tombstones: Vec<Tombstone>,
    locked: bool,
}

/// What is remembered of an id that was restored or retired, so that old pins and late news never
/// touch what has its name now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    id: GroupId,
    aborted: Option<Abort>,
    until: Timestamp,
}

/// What a rollout knows about one id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status<'a> {
    /// A group that can serve its sessions: staged, active or draining.
    Serving(&'a Group),
    /// Aborted, also when it has been restored or retired since.
    Aborted(&'a Abort),
    /// Retired, restored under another generation, or never heard of.
    Gone,
}

/// Groups that do not make a valid rollout.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum RolloutError {
    /// There is no group.
    #[error("a rollout needs at least one group")]
    Empty,
    /// Two groups have one name.
    #[error("group {0} is given twice")]
    Duplicate(GroupName),
    /// No group or more than one is stable.
    #[error("exactly one group is stable, but {0} are")]
    Stable(usize),
    /// The stable group is not active.
    #[error("the stable group {0} must be active")]
    StableNotActive(GroupName),
    /// A group that is not active has weight.
    #[error("group {0} has weight but is not active")]
    IdleWeight(GroupName),
    /// The weights are all 0.
    #[error("the weights of all active groups are 0")]
    NoWeight,
    /// An abort names a target that is not there.
    #[error("the target {target} of the aborted group {group} is not an active group")]
    Target {
        /// The aborted group.
        group: GroupName,
        /// The target that it names.
        target: GroupName,
    },
    /// A group declares something that cannot be.
    #[error("group {group} cannot be compatible so: {why}")]
    Compatible {
        /// The group.
        group: GroupName,
        /// What is wrong with its declaration.
        why: Incompatible,
    },
}

impl Rollout {
    /// A rollout made from nothing, as a configuration or a test writes it down.
    ///
    /// # Errors
    ///
    /// If the groups break a rule of a valid rollout.
    pub fn new(
        revision: Revision,
        now: Timestamp,
        groups: impl IntoIterator<Item = NewGroup>,
    ) -> Result<Self, RolloutError> {
        let groups: Vec<NewGroup> = groups.into_iter().collect();
        let stable: Vec<&NewGroup> = groups.iter().filter(|g| g.is_stable()).collect();
        let [only] = stable.as_slice() else {
            let none = groups.is_empty();
            return Err(if none {
                RolloutError::Empty
            } else {
                RolloutError::Stable(stable.len())
            });
        };
        let rollout = Self {
            revision,
            step_revision: revision,
            draw_revision: revision,
            stable: only.name().clone(),
            former: Vec::new(),
            tombstones: Vec::new(),
            locked: false,
            groups: groups.iter().map(|group| group.build(now)).collect(),
        };
        rollout.check()?;
        for group in &rollout.groups {
            if let State::Aborted(abort) = &group.state
                && !rollout.is_active(&abort.target)
            {
                return Err(RolloutError::Target {
                    group: group.name().clone(),
                    target: abort.target.name().clone(),
                });
            }
        }
        Ok(rollout)
    }

    /// The number of this state; every accepted change gets a greater one.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The revision of the last change of any weight: weights, promote, drain, abort.
    #[must_use]
    pub fn step_revision(&self) -> Revision {
        self.step_revision
    }

    /// The revision of the last `weights` change.
    #[must_use]
    pub fn draw_revision(&self) -> Revision {
        self.draw_revision
    }

    /// All groups, in the order of their registration.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The group of that name, whatever its state.
    #[must_use]
    pub fn group(&self, name: &GroupName) -> Option<&Group> {
        self.groups.iter().find(|group| group.name() == name)
    }

    /// The name of the stable group.
    #[must_use]
    pub fn stable(&self) -> &GroupName {
        &self.stable
    }

    /// The groups that are judged beside the stable one: those that take sessions.
    pub fn canaries(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().filter(|group| {
            let takes_sessions = *group.state() == State::Active && group.weight().get() > 0;
            takes_sessions && *group.name() != self.stable
        })
    }

    /// The id of the stable group.
    #[must_use]
    pub fn stable_id(&self) -> GroupId {
        // a valid rollout holds its stable group; generation 0 is nobody's, should one ever not
        self.group(&self.stable).map_or_else(
            || GroupId::new(self.stable.clone(), 0),
            |group| group.id.clone(),
        )
    }

    /// The groups that were stable before, the latest last.
    #[must_use]
    pub fn former_stable(&self) -> &[GroupName] {
        &self.former
    }

    /// What is known about `id`. An abort is remembered before everything else.
    #[must_use]
    pub fn status(&self, id: &GroupId) -> Status<'_> {
        if let Some(abort) = self
            .tombstones
            .iter()
            .filter(|t| t.id == *id)
            .find_map(|t| t.aborted.as_ref())
        {
            return Status::Aborted(abort);
        }
        match self.groups.iter().find(|group| group.id == *id) {
            Some(group) => match &group.state {
                State::Staged | State::Active | State::Draining { .. } => Status::Serving(group),
                State::Aborted(abort) => Status::Aborted(abort),
                State::Retired { .. } => Status::Gone,
            },
            None => Status::Gone,
        }
    }

    /// Whether an answer from `id` must not be used any more at `now`.
    #[must_use]
    pub fn is_aborted(&self, id: &GroupId, now: Timestamp) -> bool {
        matches!(self.status(id), Status::Aborted(abort) if !abort.stays(now))
    }

    /// Where a session of an aborted group goes: its target if active, else the target's own
    /// target, and so on; else the stable group.
    #[must_use]
    pub fn destination(&self, abort: &Abort) -> GroupId {
        let mut target = &abort.target;
        // each step leaves an aborted id behind, so there are no more steps than ids
        for _ in 0..=self.groups.len() + self.tombstones.len() {
            if self.is_active(target) {
                return target.clone();
            }
            match self.status(target) {
                Status::Aborted(next) => target = &next.target,
                Status::Serving(_) | Status::Gone => break,
            }
        }
        self.stable_id()
    }

    /// Every id that pins may name, once: those of the groups and those that are remembered.
    pub fn ids(&self) -> impl Iterator<Item = &GroupId> {
        let remembered = self.tombstones.iter().map(|t| &t.id);
        let all = self.groups.iter().map(|g| &g.id).chain(remembered);
        let before = all.clone();
        // an aborted group is remembered once it is retired, and again once it is restored
        let is_first = move |nth, id| before.clone().take(nth).all(|known| known != id);
        let firsts = all.enumerate().filter(move |(nth, id)| is_first(*nth, *id));
        firsts.map(|(_, id)| id)
    }

    /// The same state under a greater revision, once a pin has shown that there was one.
    #[must_use]
    pub fn raised(&self, revision: Revision) -> Self {
        Self {
            revision: self.revision.max(revision),
            ..self.clone()
        }
    }

    fn is_active(&self, id: &GroupId) -> bool {
        self.groups
            .iter()
            .any(|group| group.id == *id && matches!(group.state, State::Active))
    }

    fn check(&self) -> Result<(), RolloutError> {
        let mut names = HashSet::new();
        for group in &self.groups {
            if !names.insert(group.name()) {
                return Err(RolloutError::Duplicate(group.name().clone()));
            }
            if !group.weight.is_zero() && !matches!(group.state, State::Active) {
                return Err(RolloutError::IdleWeight(group.name().clone()));
            }
            if let Err(why) = compatible::check(group.name(), &group.compatible_with) {
                let group = group.name().clone();
                return Err(RolloutError::Compatible { group, why });
            }
        }
        match self.group(&self.stable) {
            None => return Err(RolloutError::Stable(0)),
            Some(group) if !matches!(group.state, State::Active) => {
                return Err(RolloutError::StableNotActive(self.stable.clone()));
            }
            Some(_) => {}
        }
        if self.groups.iter().all(|group| group.weight == Weight::ZERO) {
            return Err(RolloutError::NoWeight);
        }
        Ok(())
    }
}
