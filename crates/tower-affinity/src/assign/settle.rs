//! What an answer does to its session's pin.

use std::sync::Arc;

use http::header::{CONTENT_TYPE, HeaderMap};
use http::{Response, StatusCode};
use tower_affinity_core::{
    Cause, Decision, GroupRef, Kind, Lifetimes, Revision, SessionPin, Timestamp,
};

use super::state::State;
use crate::problem::OwnAnswer;
use crate::signal::Signal;
use crate::wire::{Scope, WriteBack};

/// What is needed of the request once its answer is there.
#[derive(Clone, Debug)]
pub(super) struct Settle {
    scope: Option<Arc<Scope>>,
    at: Timestamp,
    navigation: bool,
    /// The revision of the snapshot that the decision was made on: later ones are only asked
    /// whether a group is aborted by now, so that a session's pins stay in the order of decisions.
    revision: Revision,
}

impl Settle {
    pub(super) fn new(
        scope: Option<Arc<Scope>>,
        at: Timestamp,
        navigation: bool,
        revision: Revision,
    ) -> Self {
        Self {
            scope,
            at,
            navigation,
            revision,
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
        let signal = response.extensions_mut().remove::<Signal>();
        let Some(pin) = &decision.pin else { return };
        if response.extensions().get::<OwnAnswer>().is_some() || carries_no_pin(response.status()) {
            return;
        }
        if signal == Some(Signal::End) {
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
        let seen = signal == Some(Signal::MovedSeen)
            && pin.last_move.is_some()
            && decision.cause != Cause::Behind;
        if let Some(pin) = self.reissue(decision, pin, streams, seen)
            && !is_withdrawn(state, decision, &pin)
        {
            response
                .extensions_mut()
                .insert(WriteBack::Set(Box::new(pin)));
        }
    }

    /// The pin that the answer has to carry; `None` if the client's is still good.
    fn reissue(
        &self,
        decision: &Decision,
        pin: &SessionPin,
        streams: bool,
        seen: bool,
    ) -> Option<SessionPin> {
        let lifetimes = self
            .scope
            .as_ref()
            .map_or_else(Lifetimes::default, |scope| scope.policy().lifetimes);
        let stream = streams.then(|| pin.clone().streaming(lifetimes));
        let extended = stream.filter(|stream| stream.expires > pin.expires);
        if !decision.issue && !seen && extended.is_none() {
            return None;
        }
        let mut pin = match extended {
            Some(stream) if decision.issue => stream,
            Some(stream) => stream.renewed(self.revision, self.at, lifetimes),
            None if decision.issue => pin.clone(),
            None => pin.renewed(self.revision, self.at, lifetimes),
        };
        if seen {
            pin = pin.move_seen();
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
