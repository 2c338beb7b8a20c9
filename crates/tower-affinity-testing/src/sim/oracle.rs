//! What a replica has to decide, recomputed from what was delivered to it.

use tower_affinity_core::{AbortPolicy, Cause, Decision, Kind, Level, OnGone, Policy, SessionPin};

use super::ledger::Entry;
use super::model::{Life, Model};
use super::names::{GROUPS, Id, Millis, TA, TI, id_of};

/// What the replica that decides can see, besides its rollout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    pub(super) now: Millis,
    /// Since when each group has no ready endpoint.
    pub(super) down: [Option<Millis>; GROUPS],
    /// Whether no newer state can exist.
    pub(super) proved: bool,
    /// Since when the replica waits for a newer state.
    pub(super) behind_since: Millis,
}

/// The one right decision; a draw may fall on any of several groups.
#[derive(Clone, Debug)]
pub(super) struct Must {
    pub(super) kind: Kind,
    pub(super) cause: Option<Cause>,
    pub(super) groups: Vec<Id>,
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
    pub(super) fn allows(&self, decision: &Decision) -> bool {
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

    pub(super) fn must(&self, policy: &Policy, pin: Option<&Entry>, sight: &Sight) -> Must {
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
    pub(super) fn is_out(&self, id: Id, now: Millis) -> bool {
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

/// What is wrong with the pin that a decision leaves; `None` if nothing is.
pub(super) fn objection(
    before: Option<&Entry>,
    decision: &Decision,
    revision: u64,
    now: Millis,
) -> Option<&'static str> {
    let pin = match (&decision.pin, decision.kind) {
        (Some(pin), Kind::Assigned | Kind::Pinned | Kind::Moved) => pin,
        (None, Kind::Assigned | Kind::Pinned | Kind::Moved) => {
            return Some("a session without a pin");
        }
        _ => {
            return decision
                .issue
                .then_some("a pin is issued where there is no session");
        }
    };
    let (ti, ta) = (TI.as_millis() as Millis, TA.as_millis() as Millis);
    let second = now - now % 1000;
    let end = |issued: Millis, started: Millis| (issued + ti).min(started + ta);
    let times = (
        pin.started.as_millis(),
        pin.issued.as_millis(),
        pin.expires.as_millis(),
    );
    if pin.group.known() != decision.group.as_ref() {
        return Some("the pin names another group than the decision");
    }
    let Some(before) = before else {
        let fresh = decision.issue
            && times == (second, second, end(second, second))
            && (pin.revision.0, pin.assigned.0, pin.moves, pin.placed)
                == (revision, revision, 0, false);
        return (!fresh).then_some("the first pin of a session is wrong");
    };
    if pin.session.bits() != before.session
        || times.0 != before.started
        || pin.assigned.0 != before.assigned
    {
        return Some("the session, its start or its assignment changed");
    }
    let due = now.saturating_sub(before.issued) >= ti / 4 && before.expires < before.started + ta;
    let moved = decision.kind == Kind::Moved;
    if decision.issue != (moved || due) {
        return Some("a pin is renewed too early or too late");
    }
    if !decision.issue {
        return (Some(times.2) != Some(before.expires)).then_some("a pin changed without an issue");
    }
    let issued = second.max(before.issued);
    if times.1 != issued || times.2 < before.expires {
        return Some("the issue or the expiry went back");
    }
    if times.2 != before.expires.max(end(issued, before.started)) {
        return Some("the expiry is not the idle lifetime away");
    }
    let under = if decision.cause == Cause::AbortedStay {
        before.revision
    } else {
        revision.max(before.revision)
    };
    let right = pin.revision.0 == under
        && pin.moves == before.moves + u32::from(moved)
        && pin.placed == (before.placed || moved);
    (!right).then_some("the revision or the count of moves is wrong")
}

/// Whether the answer of a decision has a pin to carry, while its group is not aborted.
pub(super) fn writes(decision: &Decision, streams: bool) -> bool {
    let pin = decision.pin.as_ref();
    pin.is_some_and(|pin| decision.issue || (streams && !streams_on(pin)))
}

/// Whether a pin carries what it must as of its stream, which uses all of the session's time.
pub(super) fn streams_on(pin: &SessionPin) -> bool {
    pin.expires.as_millis() == pin.started.as_millis() + TA.as_millis() as Millis
}
