//! What an answer does to its session's pin.

use std::sync::Arc;

use http::header::{CONTENT_TYPE, HeaderMap};
use http::{Response, StatusCode};
use tower_affinity_core::{
    Cause, Decision, GroupRef, Kind, Lifetimes, Rollout, SessionPin, Timestamp, may_release,
};

use super::state::State;
use crate::problem::OwnAnswer;
use crate::signal::Said;
use crate::wire::{Scope, WriteBack};

/// What is needed of the request once its answer is there.
#[derive(Clone, Debug)]
pub(super) struct Settle {
    scope: Option<Arc<Scope>>,
    at: Timestamp,
    navigation: bool,
    /// The snapshot that the decision was made on: later ones are only asked whether a group is
    /// aborted by now, so that a session's pins stay in the order of decisions.
    rollout: Arc<Rollout>,
}

impl Settle {
    pub(super) fn new(
        scope: Option<Arc<Scope>>,
        at: Timestamp,
        navigation: bool,
        rollout: Arc<Rollout>,
    ) -> Self {
        Self {
            scope,
            at,
            navigation,
            rollout,
        }
    }

    pub(super) fn at(&self) -> Timestamp {
        self.at
    }

    /// Where a navigation goes whose session we ended.
    pub(super) fn restart(&self) -> Option<&str> {
        self.scope.as_ref().filter(|_| self.navigation)?.restart()
    }

    /// Leaves what is to be written on the answer, if anything is.
    pub(super) fn settle<R>(&self, state: &State, decision: &Decision, response: &mut Response<R>) {
        let said = Said::take(response.extensions_mut());
        let Some(pin) = &decision.pin else { return };
        if response.extensions().get::<OwnAnswer>().is_some() || carries_no_pin(response.status()) {
            return;
        }
        if said.end {
            response.extensions_mut().insert(WriteBack::Clear);
            return;
        }
        let streams = response.status() == StatusCode::SWITCHING_PROTOCOLS
            || is_event_stream(response.headers())
            || self
                .scope
                .as_ref()
                .is_some_and(|scope| scope.is_streaming());
        // a pin above our revision is renewed in its times only; the application will say it again
        let ours = decision.cause != Cause::Behind;
        let said = Said {
            moved_seen: said.moved_seen && pin.last_move.is_some() && ours,
            release: said.release && ours && self.may_release(state, decision),
            ..said
        };
        if let Some(pin) = self.reissue(decision, pin, streams, said)
            && !is_withdrawn(state, decision, &pin)
        {
            state.note(&pin);
            response
                .extensions_mut()
                .insert(WriteBack::Set(Box::new(pin)));
        }
    }

    /// Whether the session could leave with its next request, for all that its decision knew.
    fn may_release(&self, state: &State, decision: &Decision) -> bool {
        let group = decision.group.as_ref();
        group.is_some_and(|group| may_release(&self.rollout, &*state.ready, group))
    }

    /// The pin that the answer has to carry; `None` if the client's is still good.
    fn reissue(
        &self,
        decision: &Decision,
        pin: &SessionPin,
        streams: bool,
        said: Said,
    ) -> Option<SessionPin> {
        let lifetimes = self
            .scope
            .as_ref()
            .map_or_else(Lifetimes::default, |scope| scope.policy().lifetimes);
        let stream = streams.then(|| pin.clone().streaming(lifetimes));
        let extended = stream.filter(|stream| stream.expires > pin.expires);
        let changed = said.moved_seen || said.release;
        if !decision.issue && !changed && extended.is_none() {
            return None;
        }
        let revision = self.rollout.revision();
        let mut pin = match extended {
            Some(stream) if decision.issue => stream,
            Some(stream) => stream.renewed(revision, self.at, lifetimes),
            None if decision.issue => pin.clone(),
            None => pin.renewed(revision, self.at, lifetimes),
        };
        if said.moved_seen {
            pin = pin.move_seen();
        }
        if said.release {
            pin = pin.released();
        }
        Some(pin)
    }
}

/// Whether the pin must not be written any more: its group was aborted while the answer was on its
/// way. A first pin is still written, so that the session keeps its id and moves with the next
/// request.
fn is_withdrawn(state: &State, decision: &Decision, pin: &SessionPin) -> bool {
    match &pin.group {
        GroupRef::Known(id) if decision.kind != Kind::Assigned => {
            state.rollouts.current().is_aborted(id, state.clock.now())
        }
        _ => false,
    }
}

/// No pin goes on a 304, which freshens what a cache has stored, nor on interim answers.
fn carries_no_pin(status: StatusCode) -> bool {
    status == StatusCode::NOT_MODIFIED
        || (status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS)
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| {
        let essence = kind
            .as_bytes()
            .split(|byte| *byte == b';')
            .next()
            .unwrap_or_default();
        essence
            .trim_ascii()
            .eq_ignore_ascii_case(b"text/event-stream")
    })
}
