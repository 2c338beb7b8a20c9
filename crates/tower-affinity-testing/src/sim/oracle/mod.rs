//! What a replica has to decide, recomputed from what was delivered to it.

mod answer;
mod home;
mod pin;
mod pinned;
mod view;

use tower_affinity_core::{Cause, Decision, Kind, Level, Policy};

pub(crate) use self::answer::Wish;
pub(crate) use self::home::Home;
pub(crate) use self::pin::{objection, streams_on};

use crate::sim::grant::Grant;
use crate::sim::ledger::Entry;
use crate::sim::model::Model;
use crate::sim::names::{GROUPS, Id, Millis, id_of};
use crate::sim::place::Seen;

/// What the replica that decides can see, besides its rollout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    pub(crate) now: Millis,
    /// Since when each group has no ready endpoint.
    pub(crate) down: [Option<Millis>; GROUPS],
    /// The endpoints of each group.
    pub(crate) endpoints: Seen,
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
    /// The session is drawn anew: it may also stay where it is.
    pub(crate) steps: Option<Id>,
    /// The pin was released, but has nowhere to go any more.
    pub(crate) holds: bool,
    /// The endpoint of the pin is gone, if the session stays in its group.
    pub(crate) loses: bool,
}

impl Must {
    fn be(kind: Kind, cause: Cause, group: Id) -> Self {
        Self {
            kind,
            cause: Some(cause),
            groups: vec![group],
            steps: None,
            holds: false,
            loses: false,
        }
    }

    fn refuse(cause: Cause) -> Self {
        Self {
            kind: Kind::Refused,
            cause: Some(cause),
            groups: Vec::new(),
            steps: None,
            holds: false,
            loses: false,
        }
    }

    /// Whether `decision` is the one; a refusal may name the group or not.
    pub(crate) fn allows(&self, decision: &Decision) -> bool {
        let group = decision.group.as_ref().map(id_of);
        let here = self.steps.filter(|own| self.groups.contains(own));
        if group.is_some() && group == here {
            let cause = if self.loses {
                Cause::EndpointLost
            } else {
                Cause::Ok
            };
            return (decision.kind, decision.cause) == (Kind::Pinned, cause);
        }
        self.kind == decision.kind
            && self.cause.is_none_or(|cause| cause == decision.cause)
            && (self.kind == Kind::Refused || group.is_some_and(|id| self.groups.contains(&id)))
    }
}

impl Model {
    pub(super) fn id(&self, n: u8) -> Id {
        (n, self.group(n).map_or(0, |group| group.generation))
    }

    pub(crate) fn must(
        &self,
        policy: &Policy,
        pin: Option<&Entry>,
        grant: Option<&Grant>,
        sight: &Sight,
    ) -> Must {
        let level = policy.level;
        if let Some(grant) = grant.filter(|_| level.has_session() || level == Level::Follow) {
            return self.overridden(level, pin, grant, sight);
        }
        match (level, pin) {
            (Level::None, _) => Must::be(Kind::Bypassed, Cause::None, self.id(self.stable)),
            (Level::Connection, _) => self.draw(Kind::Bypassed, Some(Cause::Connection), sight),
            (Level::Follow, pin) => {
                let group = pin.map_or(self.id(self.stable), |pin| self.followed(pin.id, sight));
                Must::be(Kind::Bypassed, Cause::Follow, group)
            }
            // no group of a world declares anything of another
            (Level::Group | Level::Version, Some(pin)) => self.pinned(policy, pin, sight),
            (Level::Endpoint, Some(pin)) => {
                let loses = self.loses(pin, sight);
                self.pinned(policy, pin, sight).without_endpoint(loses)
            }
            (Level::Group | Level::Endpoint | Level::Version, None) => {
                self.draw(Kind::Assigned, None, sight)
            }
        }
    }

    pub(super) fn draw(&self, kind: Kind, cause: Option<Cause>, sight: &Sight) -> Must {
        let groups = self.drawn(sight);
        if groups.is_empty() {
            return Must::refuse(Cause::NoReady);
        }
        Must {
            kind,
            cause,
            groups,
            steps: None,
            holds: false,
            loses: false,
        }
    }

    pub(super) fn overridden(
        &self,
        level: Level,
        pin: Option<&Entry>,
        grant: &Grant,
        sight: &Sight,
    ) -> Must {
        let id = grant.id;
        if !self.is_serving(id) {
            return Must::refuse(Cause::OverrideNotRoutable);
        }
        if !grant.sticky || level == Level::Follow || self.drains(id) {
            return Must::be(Kind::Overridden, Cause::Granted, id);
        }
        let own = pin.filter(|pin| pin.id == id);
        Must {
            holds: own.is_some_and(|pin| self.holds(pin, sight)),
            loses: level == Level::Endpoint && own.is_some_and(|pin| self.loses(pin, sight)),
            ..Must::be(Kind::Overridden, Cause::Sticky, id)
        }
    }

    pub(super) fn followed(&self, id: Id, sight: &Sight) -> Id {
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
}
