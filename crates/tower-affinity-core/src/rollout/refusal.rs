//! Why a change was refused, and what would be allowed.

use thiserror::Error;

use super::Incompatible;
use crate::{GroupName, Timestamp};

/// A change that a rule forbids. The message says which rule, and what would be allowed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Every change but an abort is refused.
    #[error(
        "the rollout is locked: only an abort is accepted until it is unlocked; unlock it first"
    )]
    Locked,
    /// No group has that name.
    #[error("no group is named {group}; there are: {}", list(known))]
    Unknown {
        /// The name that was asked for.
        group: GroupName,
        /// The names that exist.
        known: Vec<GroupName>,
    },
    /// The name is taken by a group that is not retired.
    #[error("{group} is registered already ({state}); a name is immutable: register another one")]
    Registered {
        /// The name.
        group: GroupName,
        /// The state of the group that has it.
        state: &'static str,
    },
    /// The group's state does not allow the change.
    #[error("{group} is {state}; {verb} needs a group that is {needs}")]
    State {
        /// The group.
        group: GroupName,
        /// The state that it is in.
        state: &'static str,
        /// The change.
        verb: &'static str,
        /// The states that would be allowed.
        needs: &'static str,
    },
    /// A group declares something that cannot be.
    #[error("{group} cannot be compatible so: {why}")]
    Compatible {
        /// The group.
        group: GroupName,
        /// What is wrong with its declaration.
        why: Incompatible,
    },
    /// The stable group has to stay active.
    #[error("{0} is the stable group; promote another one first")]
    Stable(GroupName),
    /// All weights would be 0.
    #[error("the weights of all active groups would be 0; leave one of them a weight")]
    NoWeight,
    /// Two groups would have one code in a pin.
    #[error("{0} has the same short id as another group of this rollout; choose another name")]
    Collision(GroupName),
    /// A draining group may still have sessions.
    #[error(
        "{group} is not drained before {by}; wait, or force it and move its sessions by weights"
    )]
    NotDrained {
        /// The group.
        group: GroupName,
        /// When it is drained at the earliest.
        by: Timestamp,
    },
    /// No pin to a draining group is valid any more, but answers or tunnels are open.
    #[error("{group} is not drained: {open} requests are open; wait, or force it")]
    Open {
        /// The group.
        group: GroupName,
        /// How many have not ended.
        open: usize,
    },
    /// Some replicas have not said that nothing is left of a draining group.
    #[error(
        "{group} is not drained: no word of that from {}; wait, forget replicas that are gone, or \
         force it",
        replicas.join(", ")
    )]
    Waits {
        /// The group.
        group: GroupName,
        /// The names of the replicas.
        replicas: Vec<String>,
    },
    /// The target of an abort cannot take the sessions.
    #[error(
        "{target} cannot take the sessions of {group}: {why}; {}",
        others("possible targets", possible)
    )]
    Target {
        /// The group that is to be aborted.
        group: GroupName,
        /// The target that was asked for.
        target: GroupName,
        /// What stands against it.
        why: &'static str,
        /// The groups that could take them.
        possible: Vec<GroupName>,
    },
    /// No group that was stable before can take the sessions.
    #[error(
        "no former stable group can take the sessions of {group}; {}",
        others("name a target", possible)
    )]
    NoTarget {
        /// The group that is to be aborted.
        group: GroupName,
        /// The groups that could take them.
        possible: Vec<GroupName>,
    },
    /// The group is aborted already, with another target.
    #[error(
        "{group} is aborted and its sessions go to {target}: the target of an abort never changes; \
         repeat it without a target"
    )]
    TargetKept {
        /// The aborted group.
        group: GroupName,
        /// Where its sessions go.
        target: GroupName,
    },
    /// The deadline of `stay` is later than any pin lives.
    #[error("the deadline is {within_secs}s away; a session lives at most {max_age_secs}s")]
    Deadline {
        /// The deadline that was asked for, in seconds from now.
        within_secs: u64,
        /// The greatest age of a session, in seconds.
        max_age_secs: u64,
    },
}

impl Refusal {
    /// Whether `--force` lifts this refusal.
    #[must_use]
    pub fn can_be_forced(&self) -> bool {
        match self {
            Self::NotDrained { .. } | Self::Waits { .. } | Self::Open { .. } => true,
            Self::Target { why, .. } => *why == NOT_READY,
            _ => false,
        }
    }
}

/// The one objection against a target that `--force` skips.
pub(super) const NOT_READY: &str = "it has no ready endpoint (can be forced)";

/// What else could be the target; said in words if nothing could, since a word alone reads as a name.
fn others(intro: &str, possible: &[GroupName]) -> String {
    if possible.is_empty() {
        return "there is no other group that could".to_owned();
    }
    format!("{intro}: {}", list(possible))
}

fn list(names: &[GroupName]) -> String {
    names
        .iter()
        .map(GroupName::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}
