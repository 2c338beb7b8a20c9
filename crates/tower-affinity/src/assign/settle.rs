//! What an answer does to its session's pin.

use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use tower_affinity_core::{
    Answer, Decision, Lifetimes, Outcomes, Revision, Rollout, RowKey, Sealed, Settled, Timestamp,
    settle,
};

use super::state::{State, View};
use super::stored::Word;
use crate::balance::is_tunnel;
use crate::problem::OwnAnswer;
use crate::record::{Ending, Observed, Reload};
use crate::signal::said;
use crate::wire::{AlreadySealed, Scope, WriteBack};
use crate::{Arms, ServedBy};

/// What is needed of the request once its answer is there.
#[derive(Clone, Debug)]
pub(super) struct Settle {
    scope: Option<Arc<Scope>>,
    at: Timestamp,
    navigation: bool,
    /// The snapshot that the decision was made on.
    view: Arc<View>,
    /// What the store was told. Boxed, as is the token: few requests have one, and every future has
    /// room for it.
    stored: Option<Box<Stored>>,
    /// The decision's pin as a token, if the endpoint has got it.
    sealed: Option<Box<Sealed>>,
    /// The arms of the session, where there are experiments.
    arms: Option<Arms>,
    /// What the page that has asked is to be told.
    reload: Option<Reload>,
}

/// What a store was told of a session.
#[derive(Clone, Copy, Debug)]
struct Stored {
    /// Where it has the session.
    row: RowKey,
    /// How long the request has waited for it.
    waited: Duration,
}

impl Settle {
    #[inline]
    pub(super) fn new(
        scope: Option<Arc<Scope>>,
        at: Timestamp,
        navigation: bool,
        view: Arc<View>,
    ) -> Self {
        Self {
            scope,
            at,
            navigation,
            view,
            stored: None,
            sealed: None,
            arms: None,
            reload: None,
        }
    }

    /// The session has these arms.
    pub(super) fn has(&mut self, arms: Arms) {
        self.arms = Some(arms);
    }

    pub(super) fn arms(&self) -> Option<&Arms> {
        self.arms.as_ref()
    }

    /// The store was told of the session.
    pub(super) fn stored_under(&mut self, key: RowKey) {
        let waited = self.waited();
        self.stored = Some(Box::new(Stored { row: key, waited }));
    }

    /// The endpoint has got the decision's pin as this token.
    pub(super) fn handed_on(&mut self, sealed: Option<Box<Sealed>>) {
        self.sealed = sealed;
    }

    /// The page that has asked is not of the commit that answers.
    pub(super) fn reloads(&mut self, reload: Reload) {
        self.reload = Some(reload);
    }

    /// It has waited for the store this much longer.
    pub(super) fn waits(&mut self, span: Duration) {
        if let Some(stored) = &mut self.stored {
            stored.waited += span;
        }
    }

    /// How long it has waited for the store so far.
    pub(super) fn waited(&self) -> Duration {
        let stored = self.stored.as_ref();
        stored.map_or(Duration::ZERO, |stored| stored.waited)
    }

    fn row(&self) -> Option<RowKey> {
        self.stored.as_ref().map(|stored| stored.row)
    }

    /// A request was refused in a way that ends its session.
    pub(super) fn ended(&self, state: &State, decision: &Decision) {
        let idle = self.lifetimes().idle();
        state
            .recorder
            .ended(decision, Ending::Aborted, self.at, idle);
    }

    fn lifetimes(&self) -> Lifetimes {
        let scope = self.scope.as_ref();
        scope.map_or_else(Lifetimes::default, |scope| scope.policy().lifetimes)
    }

    /// The snapshot that it was decided on, and when.
    pub(super) fn decided(&self) -> (&Rollout, Timestamp) {
        (&self.view.rollout, self.at)
    }

    /// The revision of the decision.
    pub(super) fn revision(&self) -> Revision {
        self.view.rollout.revision()
    }

    /// The snapshot that the decision is made on.
    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// The decision is made anew, on `view`.
    pub(super) fn decided_on(&mut self, view: Arc<View>) {
        self.view = view;
    }

    pub(super) fn at(&self) -> Timestamp {
        self.at
    }

    /// Where a navigation goes whose session we ended.
    pub(super) fn restart(&self) -> Option<&str> {
        self.scope.as_ref().filter(|_| self.navigation)?.restart()
    }

    /// Leaves what is to be written on the answer, if anything is. Answers what the store has to
    /// hear of it.
    pub(super) fn settle<R>(
        &mut self,
        state: &State,
        decision: &Decision,
        response: &mut Response<R>,
    ) -> Option<Word> {
        let mut said = said::take(response.extensions_mut());
        if !said.outcomes.is_empty() {
            state.recorder.turned_out(decision, said.outcomes);
        }
        let observed = response.extensions_mut().remove();
        let observed = observed.map_or(Outcomes::default(), |Observed(outcomes)| outcomes);
        let ending = Ending::of(said.outcomes, observed, decision);
        said = said::with(said, observed);
        if response.extensions().get::<OwnAnswer>().is_some() {
            return None;
        }
        if let Some(reload) = self.reload {
            response.extensions_mut().insert(reload);
        }
        if carries_no_pin(response.status()) {
            return None;
        }
        let scope = self.scope.as_ref();
        let served_by: Option<&ServedBy> = response.extensions().get();
        let lifetimes = self.lifetimes();
        let answer = Answer {
            decision,
            rollout: &self.view.rollout,
            ready: &*state.ready,
            at: self.at,
            lifetimes,
            said,
            served_by: served_by.map(ServedBy::endpoint),
            streams: is_tunnel(response)
                || is_event_stream(response.headers())
                || scope.is_some_and(|scope| scope.is_streaming()),
        };
        let newest = || state.rollouts.current();
        let (write, word) = match settle(&answer, |id| newest().is_aborted(id, state.clock.now())) {
            // nor is it counted in an experiment: its next request will be
            Settled::Kept => return None,
            Settled::Cleared => {
                let idle = lifetimes.idle();
                state.recorder.ended(decision, ending, self.at, idle);
                let remove = |key| Some(Word::Remove(key, decision.session()?));
                (WriteBack::Clear, self.row().and_then(remove))
            }
            Settled::Written(pin) => {
                state.note(&pin);
                // what was decided was told before
                let is_told = decision.pin.as_ref() == Some(&*pin);
                let row = self.row().filter(|_| !is_told);
                let word = row.map(|key| Word::replace(key, &pin, self.at, lifetimes));
                // what the endpoint has said may have changed it since
                if let Some(sealed) = self.sealed.take().filter(|_| is_told) {
                    response.extensions_mut().insert(AlreadySealed(sealed));
                }
                (WriteBack::Set(pin), word)
            }
        };
        if let Some(arms) = &self.arms {
            state.recorder.exposed(arms);
        }
        response.extensions_mut().insert(write);
        word
    }
}

const EVENT_STREAM: &[u8] = b"text/event-stream";

/// No pin goes on a 304, which freshens what a cache has stored, nor on interim answers.
fn carries_no_pin(status: StatusCode) -> bool {
    status == StatusCode::NOT_MODIFIED
        || (status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS)
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let kind = kind.unwrap_or_default().trim_ascii_start();
    let (essence, rest) = kind
        .split_at_checked(EVENT_STREAM.len())
        .unwrap_or_default();
    let is_whole = || matches!(rest.trim_ascii_start().first(), None | Some(b';'));
    essence.eq_ignore_ascii_case(EVENT_STREAM) && is_whole()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_event_stream_is_known_by_its_type_alone() {
        for (kind, streams) in [
            ("text/event-stream", true),
            ("Text/Event-Stream ; charset=utf-8", true),
            ("text/event-stream;x", true),
            ("text/event-streams", false),
            ("text/event-stream x", false),
            ("text/event", false),
            ("application/json", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind.parse().unwrap())]);
            assert_eq!(is_event_stream(&headers), streams, "{kind:?}");
        }
        assert!(!is_event_stream(&HeaderMap::new()), "no type");
    }
}
