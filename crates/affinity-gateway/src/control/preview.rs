//! What a change would do: decided as the change itself is, with nothing of it done.

use std::sync::Arc;
use std::time::Duration;

use tower_affinity::Expiries;
use tower_affinity::core::{
    AbortPolicy, GroupId, Lifetimes, OnGone, OnStep, Rollout, State, Status, Timestamp,
};
use tower_affinity::wire::PathPattern;

use super::{Control, ControlError, Request, Verb};
use crate::config::ScopeSetting;

/// A change as it would be made now.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Preview {
    /// When it was looked at.
    pub at: Timestamp,
    /// The present state.
    pub before: Arc<Rollout>,
    /// The state that the change leads to; equal to the present one if it would alter nothing.
    pub after: Rollout,
    /// The groups whose sessions would be sent away, or elsewhere than they are sent now.
    pub leaving: Vec<Leaving>,
    /// The scopes whose sessions would be drawn anew.
    pub redrawn: Vec<PathPattern>,
}

/// A group whose sessions would be sent away.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leaving {
    /// The group.
    pub group: GroupId,
    /// What happens to them.
    pub fate: Fate,
    /// When each of them has moved, ended, or expired for not coming back. A pin that was lengthened
    /// for an open stream can outlast it.
    pub by: Timestamp,
    /// When nothing of the group is open any more; `None` if the change cuts nothing.
    pub cut_by: Option<Timestamp>,
}

/// What happens to each session of a group with its next request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// It moves.
    Move {
        /// Where to.
        to: GroupId,
    },
    /// It stays, and moves after a deadline.
    Stay {
        /// The deadline.
        until: Timestamp,
        /// Where it moves to.
        to: GroupId,
    },
    /// It ends.
    End,
    /// It moves to a group that is drawn by weight.
    Draw {
        /// Groups that can be drawn.
        among: Vec<GroupId>,
        /// Scopes where it ends instead.
        strict: Vec<PathPattern>,
    },
}

/// A change that was decided and not made.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) at: Timestamp,
    pub(super) before: Arc<Rollout>,
    pub(super) after: Rollout,
    pub(super) lifetimes: Lifetimes,
    /// Within what time streams are cut.
    pub(super) streams: Duration,
    pub(super) scopes: Vec<ScopeSetting>,
}

impl Control {
    /// What [`Control::change`] would do, and why it would not. Nothing is done or written, no
    /// revision is used, and nothing is logged.
    ///
    /// Blocks while a change is written.
    ///
    /// # Errors
    ///
    /// As [`Control::change`], but for what only the disk can refuse.
    pub fn preview(&self, request: &Request) -> Result<Preview, ControlError> {
        if let Some(member) = self.member()
            && let Err(trouble) = member.sync_blocking()
            && !matches!(request.verb, Verb::Abort { .. })
        {
            return Err(trouble.into());
        }
        Ok(self.decide(request)?.preview(self.expiries()))
    }
}

impl Decided {
    fn preview(self, expiries: &Expiries) -> Preview {
        let groups = self.before.groups().iter();
        let leaving = groups.filter_map(|group| self.leaving(group.id(), expiries));
        Preview {
            at: self.at,
            leaving: leaving.collect(),
            redrawn: self.redrawn(),
            before: self.before,
            after: self.after,
        }
    }

    /// What changes for the sessions of a group; `None` if nothing does.
    fn leaving(&self, id: &GroupId, expiries: &Expiries) -> Option<Leaving> {
        let (before, fate) = (self.fate(&self.before, id), self.fate(&self.after, id)?);
        let serves = match before {
            None => true,
            Some(Fate::Stay { until, .. }) => self.at < until,
            Some(Fate::Move { .. } | Fate::End) => false,
            Some(Fate::Draw { .. }) => return None,
        };
        if before.as_ref() == Some(&fate) {
            return None;
        }
        let last = match fate {
            Fate::Stay { until, .. } => until.max(self.at),
            _ => self.at,
        };
        let idle = last.plus(self.lifetimes.idle());
        let by = match fate {
            Fate::Stay { .. } => idle.min(self.at.plus(self.lifetimes.max_age())),
            _ if serves => idle,
            // its pins have not been renewed for some time
            _ => idle.min(expiries.latest(id).unwrap_or_default()),
        };
        let cuts = match fate {
            Fate::Stay { .. } => true,
            Fate::Move { .. } | Fate::End => serves,
            Fate::Draw { .. } => false,
        };
        (by > self.at).then(|| Leaving {
            group: id.clone(),
            fate,
            by,
            cut_by: cuts.then(|| last.plus(self.streams)),
        })
    }

    /// What a rollout does to the sessions of a group; `None` if it serves them.
    fn fate(&self, rollout: &Rollout, id: &GroupId) -> Option<Fate> {
        match rollout.status(id) {
            Status::Serving(_) => None,
            Status::Aborted(abort) => {
                let to = rollout.destination(abort);
                Some(match abort.policy {
                    AbortPolicy::Move => Fate::Move { to },
                    AbortPolicy::Stay { until } => Fate::Stay { until, to },
                    AbortPolicy::End => Fate::End,
                })
            }
            Status::Gone => {
                let drawn = rollout.groups().iter();
                let drawn = drawn.filter(|g| matches!(g.state(), State::Active));
                let drawn = drawn.filter(|g| !g.weight().is_zero());
                Some(Fate::Draw {
                    among: drawn.map(|group| group.id().clone()).collect(),
                    strict: self.paths(|scope| scope.on_gone == OnGone::Strict),
                })
            }
        }
    }

    fn redrawn(&self) -> Vec<PathPattern> {
        if self.before.draw_revision() == self.after.draw_revision() {
            return Vec::new();
        }
        self.paths(|scope| scope.on_step == OnStep::Reassign)
    }

    fn paths(&self, with: impl Fn(&&ScopeSetting) -> bool) -> Vec<PathPattern> {
        let scopes = self.scopes.iter().filter(with);
        scopes.map(|scope| scope.path.clone()).collect()
    }
}
