//! What a replica has to decide, recomputed from what was delivered to it.

mod pin;

use tower_affinity_core::{AbortPolicy, Cause, Decision, Kind, Level, OnGone, Policy};

pub(crate) use self::pin::{objection, streams_on, writes};

use crate::sim::ledger::Entry;
use crate::sim::model::{Life, Model};
use crate::sim::names::{GROUPS, Id, Millis, id_of};

/// What the replica that decides can see, besides its rollout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    pub(crate) now: Millis,
    /// Since when each group has no ready endpoint.
    pub(crate) down: [Option<Millis>; GROUPS],
    /// Whether no newer state can exist.
    pub(crate) proved: bool,
    /// Since when the replica waits for a newer state.
    pub(crate) behind_since: Millis,
}

/// The one right decision; a draw may fall on any of several groups.
#[derive(Clone, Debug)]
pub(crate) struct Must {
    pub(crate) kind: Kind,
    pub(crate) cause: Option<Cause>,
    pub(crate) groups: Vec<Id>,
}

impl Must {
    fn be(kind: Kind, cause: Cause, group: Id) -> Self {
        Self {
            kind,
            cause: Some(cause),
            groups: vec![group],
        }
    }

    fn refuse(cause: Cause) -> Self {
        Self {
            kind: Kind::Refused,
            cause: Some(cause),
            groups: Vec::new(),
        }
    }

    /// Whether `decision` is the one; a refusal may name the group or not.
    pub(crate) fn allows(&self, decision: &Decision) -> bool {
        let group = decision.group.as_ref().map(id_of);
        self.kind == decision.kind
            && self.cause.is_none_or(|cause| cause == decision.cause)
            && (self.kind == Kind::Refused || group.is_some_and(|id| self.groups.contains(&id)))
    }
}

impl Model {
    fn id(&self, n: u8) -> Id {
        (n, self.group(n).map_or(0, |group| group.generation))
    }

    /// Groups that a draw may fall on.
    fn drawn(&self, sight: &Sight) -> Vec<Id> {
        let takes = |n: &u8| {
            let group = self.group(*n);
            group.is_some_and(|group| group.life == Life::Active && group.weight > 0)
                && sight.down[usize::from(*n)].is_none()
        };
        (0..GROUPS as u8)
            .filter(takes)
            .map(|n| self.id(n))
            .collect()
    }

    fn is_lost(&self, n: u8, sight: &Sight) -> bool {
        let out = |n: u8| {
            sight.down[usize::from(n)]
                .is_some_and(|since| sight.now.saturating_sub(since) >= 10_000)
        };
        let serving: Vec<u8> = (0..GROUPS as u8)
            .filter(|n| {
                matches!(
                    self.group(*n).map(|g| g.life),
                    Some(Life::Active | Life::Draining)
                )
            })
            .collect();
        out(n) && 2 * serving.iter().filter(|n| out(**n)).count() <= serving.len()
    }

    pub(crate) fn must(&self, policy: &Policy, pin: Option<&Entry>, sight: &Sight) -> Must {
        match (policy.level, pin) {
            (Level::None, _) => Must::be(Kind::Bypassed, Cause::None, self.id(self.stable)),
            (Level::Connection, _) => self.draw(Kind::Bypassed, Some(Cause::Connection), sight),
            (Level::Follow, pin) => {
                let group = pin.map_or(self.id(self.stable), |pin| self.followed(pin.id, sight));
                Must::be(Kind::Bypassed, Cause::Follow, group)
            }
            (Level::Group, Some(pin)) => self.pinned(policy.on_gone == OnGone::Strict, pin, sight),
            (Level::Group, None) => self.draw(Kind::Assigned, None, sight),
        }
    }

    fn draw(&self, kind: Kind, cause: Option<Cause>, sight: &Sight) -> Must {
        let groups = self.drawn(sight);
        if groups.is_empty() {
            return Must::refuse(Cause::NoReady);
        }
        Must {
            kind,
            cause,
            groups,
        }
    }

    fn stays(policy: AbortPolicy, now: Millis) -> bool {
        matches!(policy, AbortPolicy::Stay { until } if now < until.as_millis())
    }

    /// Whether `id` is aborted here and its sessions do not stay any more.
    pub(crate) fn is_out(&self, id: Id, now: Millis) -> bool {
        self.aborts
            .get(&id)
            .is_some_and(|(abort, _)| !Self::stays(abort.policy, now))
    }

    fn is_serving(&self, id: Id) -> bool {
        let lives = matches!(
            self.group(id.0).map(|group| group.life),
            Some(Life::Staged | Life::Active | Life::Draining)
        );
        self.is_current(id) && lives
    }

    fn followed(&self, id: Id, sight: &Sight) -> Id {
        let abort = self.aborts.get(&id).map(|(abort, _)| *abort);
        match abort {
            Some(abort) if self.is_out(id, sight.now) => self.destination(abort),
            _ if (abort.is_some() || self.is_serving(id))
                && sight.down[usize::from(id.0)].is_none() =>
            {
                id
            }
            _ => self.id(self.stable),
        }
    }

    fn pinned(&self, strict: bool, pin: &Entry, sight: &Sight) -> Must {
        let (id, above) = (pin.id, pin.revision > self.revision);
        let lost = !strict && self.is_lost(id.0, sight);
        if let Some((abort, _)) = self.aborts.get(&id) {
            let to = self.destination(*abort);
            return match abort.policy {
                policy if Self::stays(policy, sight.now) && lost => {
                    Must::be(Kind::Moved, Cause::GroupDown, to)
                }
                policy if Self::stays(policy, sight.now) => {
                    Must::be(Kind::Pinned, Cause::AbortedStay, id)
                }
                AbortPolicy::End => Must::refuse(Cause::AbortedEnd),
                _ => Must::be(Kind::Moved, Cause::Aborted, to),
            };
        }
        if !self.is_serving(id) {
            let waits = sight.now.saturating_sub(sight.behind_since) < 10_000;
            return if !self.knows(id) && above && !sight.proved && waits {
                Must::refuse(Cause::Behind)
            } else if strict {
                Must::refuse(Cause::Gone)
            } else {
                self.draw(Kind::Moved, Some(Cause::Gone), sight)
            };
        }
        if above {
            return Must::be(Kind::Pinned, Cause::Behind, id);
        }
        if lost && !self.drawn(sight).is_empty() {
            return self.draw(Kind::Moved, Some(Cause::GroupDown), sight);
        }
        let draining = self
            .group(id.0)
            .is_some_and(|group| group.life == Life::Draining);
        Must::be(
            Kind::Pinned,
            if draining { Cause::Draining } else { Cause::Ok },
            id,
        )
    }
}
