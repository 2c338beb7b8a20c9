//! What an answer has to do to its session's pin, while its group is not aborted.

use tower_affinity_core::{Cause, Kind, SessionPin};

use super::{Sight, streams_on};
use crate::sim::flight::Flight;
use crate::sim::place::Place;

/// What is wished of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) clears: bool,
    pub(crate) releases: bool,
    pub(crate) sees: bool,
    /// The endpoint that answers is the session's from now on.
    pub(crate) takes: bool,
    pub(crate) writes: bool,
}

impl Wish {
    pub(crate) fn of(flight: &Flight, sight: &Sight) -> Self {
        let (decision, said) = (&flight.decision, flight.said);
        let Some(pin) = &decision.pin else {
            return Self {
                clears: false,
                releases: false,
                sees: false,
                takes: false,
                writes: false,
            };
        };
        let ours = decision.cause != Cause::Behind;
        let leaves = flight.state.model.may_leave(flight.group, sight);
        let (releases, sees) = (
            ours && said.release && leaves,
            ours && said.moved_seen && pin.last_move.is_some(),
        );
        let takes = ours && flight.served.is_some_and(|by| flight.home.takes(by));
        let grows = flight.streams && !streams_on(pin);
        let news = !said.outcomes.without(pin.outcomes).is_empty();
        Self {
            clears: said.end,
            releases,
            sees,
            takes,
            writes: decision.issue || releases || sees || takes || grows || news,
        }
    }

    /// What is wrong with the pin that the answer carries.
    pub(crate) fn objection(self, flight: &Flight, written: &SessionPin) -> Option<&'static str> {
        let decision = &flight.decision;
        let pin = decision.pin.as_ref()?;
        if (written.session, written.started) != (pin.session, pin.started)
            || (written.moves, written.assigned) != (pin.moves, pin.assigned)
            || (&written.group, written.placed) != (&pin.group, pin.placed)
        {
            return Some("the answer changed what it may not");
        }
        if written.released != (pin.released || self.releases) {
            return Some("the release is not as the application said");
        }
        if written.outcomes != pin.outcomes.and(flight.said.outcomes) {
            return Some("the pin does not say what became of its session");
        }
        if written.last_move.is_some() != (pin.last_move.is_some() && !self.sees) {
            return Some("the last move is not as the application said");
        }
        if !flight.home.is_told_by(written, self.endpoint(flight)) {
            return Some("the endpoint is not the one that the session has");
        }
        if flight.streams && !streams_on(written) {
            return Some("a stream does not use its session");
        }
        let renews = !decision.issue && decision.cause != Cause::AbortedStay;
        let revision = if renews {
            pin.revision.0.max(flight.state.model.revision)
        } else {
            pin.revision.0
        };
        (written.revision.0 != revision).then_some("the revision of the answer is wrong")
    }

    /// The endpoint that the session has after the answer.
    pub(crate) fn endpoint(self, flight: &Flight) -> Option<Place> {
        if self.takes {
            flight.served
        } else {
            flight.home.named
        }
    }

    /// Whether the pin is written although its group is aborted: the first one of a session.
    pub(crate) fn is_first(flight: &Flight) -> bool {
        flight.decision.kind == Kind::Assigned
    }
}
