//! The oracle's own idea of an abort that only one replica knows.

use tower_affinity_core::{AbortPolicy, Standing};

use super::{Abort, Group, Life, Model};
use crate::sim::names::Id;

#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) id: Id,
    pub(crate) disputed: bool,
    /// The stable group where it was made.
    pub(crate) stable: u8,
    abort: Abort,
    group: Group,
}

impl Claim {
    /// What aborted the group `n` between two states.
    pub(crate) fn of(before: &Model, after: &Model, n: u8) -> Option<Self> {
        let group = *before.group(n)?;
        let id = (n, group.generation);
        let (abort, _) = after.aborts.get(&id)?;
        Some(Self {
            id,
            abort: *abort,
            group,
            stable: before.stable,
            disputed: false,
        })
    }

    pub(crate) fn set_policy(&mut self, policy: AbortPolicy) {
        self.abort.policy = policy;
    }
}

impl Model {
    /// How an abort that is not in this shared state stands to it.
    pub(crate) fn standing(&self, claim: &Claim) -> Standing {
        let there = self.is_current(claim.id);
        if self.aborts.contains_key(&claim.id) || !self.knows(claim.id) {
            return Standing::Done;
        }
        let untouched = there
            && self.group(claim.id.0) == Some(&claim.group)
            && (self.stable == claim.id.0) == (claim.stable == claim.id.0);
        if untouched && !claim.disputed && self.takes_over(claim).is_some() {
            Standing::Merges
        } else {
            Standing::Conflicts
        }
    }

    /// Lets an abort win over whatever else the group is, if there is who takes its sessions.
    pub(crate) fn obey(&mut self, claim: &Claim) {
        let (n, _) = claim.id;
        let serves = matches!(
            self.life(n),
            Some(Life::Staged | Life::Active | Life::Draining)
        );
        if serves
            && self.is_current(claim.id)
            && let Some(target) = self.takes_over(claim)
        {
            self.abort(n, target, Some(claim.abort.policy));
        }
    }

    fn takes_over(&self, claim: &Claim) -> Option<u8> {
        let can = |n: &u8| {
            *n != claim.id.0 && matches!(self.life(*n), Some(Life::Active | Life::Draining))
        };
        let named = Some(claim.abort.target).filter(|id| self.is_current(*id));
        let named = named.map(|(n, _)| n);
        let formers = self.former.iter().rev().copied();
        let mut all = named.into_iter().chain([self.stable]).chain(formers);
        all.find(can)
    }

    /// The shared state once the abort is in it.
    pub(crate) fn merged(&self, claim: &Claim, revision: u64, now: u64) -> Self {
        let mut next = self.clone();
        next.forget(now);
        next.revision = revision;
        next.obey(claim);
        next
    }

    pub(crate) fn raised(&self, revision: u64) -> Self {
        Self {
            revision: self.revision.max(revision),
            ..self.clone()
        }
    }
}
