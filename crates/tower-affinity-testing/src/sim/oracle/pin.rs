//! What a pin has to hold after a decision, and whether an answer carries it.

use tower_affinity_core::{Cause, Decision, Kind, SessionPin};

use super::Must;
use crate::sim::ledger::Entry;
use crate::sim::model::Model;
use crate::sim::names::{Millis, TA, TI, id_of};

/// What is wrong with the pin that a decision leaves; `None` if nothing is.
pub(crate) fn objection(
    before: Option<&Entry>,
    decision: &Decision,
    model: &Model,
    must: &Must,
    now: Millis,
) -> Option<&'static str> {
    let revision = model.revision;
    let sticky = decision.cause == Cause::Sticky;
    let pin = match (&decision.pin, decision.kind) {
        (Some(pin), Kind::Assigned | Kind::Pinned | Kind::Moved) => pin,
        (Some(pin), Kind::Overridden) if sticky => pin,
        (None, Kind::Overridden) if sticky => return Some("a sticky override without a session"),
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
    let chosen = |before: &&Entry| !sticky || decision.group.as_ref().map(id_of) == Some(before.id);
    let Some(before) = before.filter(chosen) else {
        let fresh = decision.issue
            && times == (second, second, end(second, second))
            && (pin.revision.0, pin.assigned.0, pin.moves, pin.placed)
                == (revision, revision, 0, sticky);
        return (!fresh).then_some("the first pin of a session is wrong");
    };
    if pin.session.bits() != before.session
        || times.0 != before.started
        || pin.assigned.0 != before.assigned.max(must.steps.map_or(0, |_| model.drawn))
    {
        return Some("the session, its start or its assignment changed");
    }
    let due = now.saturating_sub(before.issued) >= ti / 4 && before.expires < before.started + ta;
    let moved = decision.kind == Kind::Moved;
    let changes = must.holds || must.steps.is_some() || must.loses;
    if decision.issue != (moved || due || changes) {
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
        && pin.placed == (before.placed || (moved && must.steps.is_none()))
        && pin.released == (before.released && !moved && !must.holds && must.steps.is_none());
    (!right).then_some("the revision or the count of moves is wrong")
}

/// Whether a pin carries what it must as of its stream, which uses all of the session's time.
pub(crate) fn streams_on(pin: &SessionPin) -> bool {
    pin.expires.as_millis() == pin.started.as_millis() + TA.as_millis() as Millis
}
