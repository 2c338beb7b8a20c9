//! Level `endpoint`: what becomes of a session's endpoint, which is the same while it is there and
//! changes only when the session begins, moves, or loses it.

use tower_affinity_core::{Cause, Decision, DrawKey, EndpointRef, Kind, Level, SessionPin};

use super::{Must, Sight};
use crate::sim::ledger::Entry;
use crate::sim::model::Model;
use crate::sim::names::id_of;
use crate::sim::place::{Place, listed};

/// The endpoint of a session after a decision.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Home {
    /// The one that its pin names.
    pub(crate) named: Option<Place>,
    /// Whether the replica has it in its list, up or not: else it cannot tell its code.
    listed: bool,
    /// Whether the request is bound to one endpoint, be it to the one that answers.
    bound: bool,
}

impl Must {
    /// The same, but for a pin whose endpoint is gone.
    pub(super) fn without_endpoint(self, loses: bool) -> Self {
        let stays = self.steps.is_some() || self.kind == Kind::Pinned;
        if !loses || !stays {
            return self;
        }
        let cause = match self.cause {
            Some(Cause::Ok | Cause::Draining) => Some(Cause::EndpointLost),
            cause => cause,
        };
        Self {
            cause,
            loses,
            ..self
        }
    }
}

impl Model {
    /// Whether the endpoint of a pin does not serve it any more, as far as its replica sees. Of a
    /// pin above our revision nothing is changed.
    pub(super) fn loses(&self, pin: &Entry, sight: &Sight) -> bool {
        let serves =
            |own: Place| listed(&sight.endpoints, pin.id.0).any(|(place, up)| up && place == own);
        pin.revision <= self.revision && pin.endpoint.is_some_and(|own| !serves(own))
    }
}

impl Home {
    /// What is left of the endpoint in the pin `before`, after a decision that is the right one.
    pub(crate) fn of(
        level: Level,
        before: Option<&Entry>,
        must: &Must,
        decision: &Decision,
        sight: &Sight,
    ) -> Self {
        let group = decision.group.as_ref().map(id_of);
        let serves = decision.kind != Kind::Refused && decision.pin.is_some();
        let kept = before.filter(|before| {
            serves
                && matches!(decision.kind, Kind::Pinned | Kind::Overridden)
                && Some(before.id) == group
        });
        let named = kept.filter(|_| !must.loses);
        let named = named.and_then(|before| before.endpoint);
        let lists = |own: Place| listed(&sight.endpoints, own.group).any(|(place, _)| place == own);
        Self {
            named,
            listed: named.is_some_and(lists),
            bound: serves && level == Level::Endpoint,
        }
    }

    /// The endpoint that has to serve while it is there.
    pub(crate) fn own(self) -> Option<Place> {
        self.named.filter(|_| self.bound && self.listed)
    }

    /// Whether the session stays with `served`: it has no endpoint, or the one that it had was found
    /// to be gone.
    pub(crate) fn takes(self, served: Place) -> bool {
        let left = self.own().is_some_and(|own| own != served);
        self.bound && (self.named.is_none() || left)
    }

    /// Whether `pin` names `endpoint`, as far as its replica can tell: it passes a code on that it
    /// does not know.
    pub(crate) fn is_told_by(self, pin: &SessionPin, endpoint: Option<Place>) -> bool {
        match &pin.endpoint {
            None => endpoint.is_none(),
            Some(EndpointRef::Known(id)) => Place::of(id) == endpoint,
            Some(EndpointRef::Unknown(_)) => {
                endpoint.is_some() && endpoint == self.named && !self.listed
            }
        }
    }

    /// What is wrong with the endpoint that a decision leaves; `None` if nothing is.
    pub(crate) fn objection(self, decision: &Decision) -> Option<&'static str> {
        if decision.endpoint_key.is_some() != self.bound {
            return Some("a session is bound that is not to be, or one that is to be is not");
        }
        let pin = decision.pin.as_ref()?;
        if decision.kind == Kind::Refused {
            return None;
        }
        if decision
            .endpoint_key
            .is_some_and(|key| key != DrawKey::from(pin.session))
        {
            return Some("an endpoint is chosen by something else than the session");
        }
        let told = self.is_told_by(pin, self.named);
        (!told).then_some("an endpoint is kept that is lost or left, or another is not")
    }
}
