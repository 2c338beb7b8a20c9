//! What the configuration says to a plan.

use std::time::Duration;

use tower_affinity::core::analysis::Terms;
use tower_affinity::core::{
    AbortPolicy, Change, DrawSalt, GroupId, Policy, Revision, Rollout, RolloutError, Timestamp,
};
use tower_affinity::wire::AssignBy;

use crate::config::{Rollback, ScopeSetting, Settings};
use crate::control::{deadline, first_rollout};

/// The configuration as far as decisions depend on it.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) rollout: Rollout,
    /// The groups' ids in the order of the file; no step of a plan makes another.
    pub(super) ids: Vec<GroupId>,
    pub(super) policy: Policy,
    pub(super) salt: DrawSalt,
    /// Whether each answer is a stream, whose session is in use for as long as it is open.
    pub(super) streaming: bool,
    /// Whether the draw is by something that the request names, and not by the session's id.
    pub(super) keyed: bool,
    pub(super) skew: Duration,
    /// On what terms a gate judges.
    pub(super) terms: Terms,
    rollback: Rollback,
}

/// Whether sessions of the scope are pinned.
pub(super) fn pins(scope: &ScopeSetting) -> bool {
    scope.affinity.has_session()
}

impl Rules {
    /// The rules for requests of `path`, with the groups as the file has them at `now`.
    pub(super) fn new(
        settings: &Settings,
        path: &str,
        now: Timestamp,
    ) -> Result<Self, RolloutError> {
        let rollout = first_rollout(settings, Revision(1), now)?;
        let scope = settings
            .scopes
            .iter()
            .find(|scope| scope.path.matches(path));
        let policy = scope
            .map(|scope| *scope.scope().policy())
            .unwrap_or_default();
        Ok(Self {
            ids: rollout
                .groups()
                .iter()
                .map(|group| group.id().clone())
                .collect(),
            rollout,
            policy: Policy {
                lifetimes: settings.pin.lifetimes,
                ..policy
            },
            salt: DrawSalt::new(&settings.service),
            streaming: scope.is_some_and(|scope| scope.streaming),
            keyed: scope.is_some_and(|scope| {
                !matches!(scope.assign, AssignBy::Session | AssignBy::LeastLoaded)
            }),
            skew: settings.pin.clock_skew,
            terms: settings.analysis.terms,
            rollback: settings.rollback.clone(),
        })
    }

    /// The next change of `rollout`, at `now`.
    pub(super) fn change(&self, rollout: &Rollout, now: Timestamp) -> Change {
        Change {
            revision: rollout.revision().next(),
            now,
            max_age: self.max_age(),
        }
    }

    /// What an abort at `now` does to sessions.
    pub(super) fn abort_policy(&self, now: Timestamp) -> AbortPolicy {
        deadline(self.rollback.policy, self.rollback.within, now)
    }

    pub(super) fn max_age(&self) -> Duration {
        self.policy.lifetimes.max_age()
    }

    /// The number of a group.
    pub(super) fn place(&self, id: &GroupId) -> Option<usize> {
        self.ids.iter().position(|known| known == id)
    }
}
