//! The changes that an operator can ask for.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tower_affinity::core::{AbortRequest, GroupName, Refusal, Revision, Rollout, Weight};

use super::drained::retire;
use super::error::ControlError;
use super::terms::{Terms, deadline};
use crate::config::RollbackPolicy;

/// One change of the rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verb {
    /// Refuses every other change but an abort.
    Lock,
    /// Ends a lock.
    Unlock,
    /// Makes a group known, as staged or, with weight, as active.
    Register {
        /// Its name.
        group: GroupName,
        /// Its endpoints.
        endpoints: Vec<SocketAddr>,
        /// Its weight.
        weight: Weight,
        /// The groups whose sessions it can serve; `None`: as declared before, if it was.
        compatible_with: Option<Vec<GroupName>>,
    },
    /// Gives the named groups new weights.
    Weights(BTreeMap<GroupName, Weight>),
    /// Makes a group stable with all the weight.
    Promote(GroupName),
    /// Ends new sessions for a group.
    Drain(GroupName),
    /// Moves a group's sessions away.
    Abort {
        /// The group.
        group: GroupName,
        /// Where they go.
        to: Option<GroupName>,
        /// What happens to them; by default what the configuration says.
        policy: Option<RollbackPolicy>,
        /// The deadline of `stay`, from now.
        within: Option<Duration>,
        /// Skips the check that the target is ready.
        force: bool,
    },
    /// Brings an aborted or retired group back as staged.
    Restore(GroupName),
    /// Declares a group's endpoints gone.
    Retire {
        /// The group.
        group: GroupName,
        /// Skips the check that it is drained.
        force: bool,
    },
}

/// A change with who asks for it, and on what state they decided.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who asks, for the audit log.
    pub who: String,
    /// The revision that they saw; an abort ignores it.
    pub if_match: Option<Revision>,
    /// The change.
    pub verb: Verb,
}

impl Verb {
    /// The verb's name, as the command line has it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Lock => "lock",
            Self::Unlock => "unlock",
            Self::Register { .. } => "register",
            Self::Weights(_) => "weights",
            Self::Promote(_) => "promote",
            Self::Drain(_) => "drain",
            Self::Abort { .. } => "abort",
            Self::Restore(_) => "restore",
            Self::Retire { .. } => "retire",
        }
    }

    /// What makes no sense whatever the rollout is; `policy` is what an abort does by default.
    pub(super) fn check(&self, policy: RollbackPolicy) -> Result<(), ControlError> {
        match self {
            Self::Abort {
                policy: named,
                within: Some(_),
                ..
            } => match named.unwrap_or(policy) {
                RollbackPolicy::Stay => Ok(()),
                RollbackPolicy::Move => Err(ControlError::Within("move")),
                RollbackPolicy::End => Err(ControlError::Within("end")),
            },
            _ => Ok(()),
        }
    }

    pub(super) fn apply(&self, rollout: &Rollout, terms: &Terms<'_>) -> Result<Rollout, Refusal> {
        let change = terms.change;
        match self {
            Self::Lock => Ok(rollout.lock(change)),
            Self::Unlock => Ok(rollout.unlock(change)),
            Self::Register {
                group,
                weight,
                compatible_with,
                ..
            } => {
                let next = rollout.register(group, *weight, change)?;
                match compatible_with {
                    Some(with) => next.declare(group, with, change),
                    None => Ok(next),
                }
            }
            Self::Weights(weights) => rollout.weights(weights, change),
            Self::Promote(group) => rollout.promote(group, change),
            Self::Drain(group) => rollout.drain(group, change),
            Self::Abort {
                group,
                to,
                policy,
                within,
                force,
            } => {
                // a repeated abort only replaces the policy if one is named
                let named = policy.is_some() || within.is_some();
                let again = rollout
                    .group(group)
                    .is_some_and(|g| g.state().name() == "aborted");
                let policy = (named || !again).then(|| {
                    let within = within.unwrap_or(terms.within);
                    deadline(policy.unwrap_or(terms.policy), within, change.now)
                });
                let request = AbortRequest {
                    to: to.clone(),
                    policy,
                    force: *force,
                };
                // who is sent somewhere must arrive: the checks are believed here
                rollout.abort(group, &request, &terms.groups.healthy(), change)
            }
            Self::Restore(group) => rollout.restore(group, change),
            Self::Retire { group, force } => retire(rollout, group, *force, terms),
        }
    }
}
