//! The service of [`AssignLayer`](super::AssignLayer).

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, RANGE};
use http::{Method, Request, Response};
use tower_affinity_core::{
    Absence, Cause, Cohort, Decision, Inputs, Kind, Newer, Outcome, Policy, Presented as Shows,
    Shown, decide,
};
use tower_service::Service;

use super::future::ResponseFuture;
use super::refuse::{refusal, visited};
use super::settle::Settle;
use super::state::State;
use crate::Affinity;
use crate::random::fresh_session;
use crate::wire::Presented;

/// Decides which group serves a request; see the [module](super).
#[derive(Clone, Debug)]
pub struct Assign<S> {
    inner: S,
    state: Arc<State>,
}

impl<S> Assign<S> {
    pub(super) fn new(inner: S, state: Arc<State>) -> Self {
        Self { inner, state }
    }
}

impl<S, B, R> Service<Request<B>> for Assign<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: From<Bytes>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let presented = request.extensions_mut().remove::<Presented>();
        if let Some(visit) = presented.as_ref().and_then(|presented| presented.visit) {
            let decision = Decision {
                kind: Kind::Refused,
                cause: Cause::Early,
                group: None,
                pin: None,
                issue: false,
                cohort: Cohort::None,
            };
            let response = visited(visit);
            self.state.recorder.refused(&decision, response.status());
            return ResponseFuture::refused(response, Affinity::new(decision));
        }
        let (decision, settle) = self.state.decide(presented);
        if decision.kind == Kind::Refused {
            let response = refusal(&decision, &settle);
            self.state.recorder.refused(&decision, response.status());
            return ResponseFuture::refused(response, Affinity::new(decision));
        }
        if matches!(
            decision.kind,
            Kind::Assigned | Kind::Moved | Kind::Overridden
        ) {
            ask_for_all(&mut request);
        }
        let affinity = Affinity::new(decision);
        request.extensions_mut().insert(affinity.clone());
        ResponseFuture::inner(
            self.inner.call(request),
            affinity,
            settle,
            Arc::clone(&self.state),
        )
    }
}

impl State {
    fn decide(&self, presented: Option<Presented>) -> (Decision, Settle) {
        let view = self.view();
        let revision = view.rollout.revision();
        let rollout = Arc::clone(&view.rollout);
        let (mut shows, policy, settle) = match presented {
            Some(Presented {
                shows,
                scope,
                at,
                navigation,
                visit: _,
            }) => {
                let policy = scope.as_ref().map(|scope| *scope.policy());
                (shows, policy, Settle::new(scope, at, navigation, rollout))
            }
            None => {
                let shows = Shows {
                    shown: Shown::Nothing(Absence::New),
                    key: None,
                    chosen: None,
                };
                (
                    shows,
                    Some(Policy::default()),
                    Settle::new(None, self.clock.now(), false, rollout),
                )
            }
        };
        if let Shown::Pin(pin) = &mut shows.shown {
            view.codes.resolve(pin);
            self.note(pin);
        }
        if let Some(chosen) = &mut shows.chosen {
            view.codes.resolve_override(chosen);
        }
        let mut newer = Newer::Unasked;
        let decision = loop {
            let outcome = decide(&Inputs {
                presented: &shows,
                policy: policy.as_ref(),
                rollout: &view.rollout,
                ready: &*self.ready,
                salt: &self.salt,
                serving: self.serving.as_ref(),
                now: settle.at(),
                fresh: fresh_session(),
                newer,
            });
            match outcome {
                Outcome::Decided(decision) => break decision,
                Outcome::Behind(revision) => newer = self.rollouts.prove(revision),
            }
        };
        if let (Shown::Pin(pin), Some(policy)) = (&shows.shown, &policy) {
            let idle = policy.lifetimes.idle();
            self.recorder
                .session_seen(pin, &decision, settle.at(), idle);
        }
        // noted now and not with the answer: from here on the group has a session
        if let Some(pin) = decision.pin.as_ref().filter(|_| decision.issue) {
            self.note(pin);
        }
        if let Shown::Pin(pin) = &shows.shown
            && pin.revision > revision
        {
            self.rollouts.prove(pin.revision);
        }
        (decision, settle)
    }
}

/// The answer of a session's first request on a commit is whole and of that commit: no part of one
/// that the client has from another, and no 304, which could not carry the pin.
fn ask_for_all<B>(request: &mut Request<B>) {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        for name in [IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_RANGE, RANGE] {
            request.headers_mut().remove(name);
        }
    }
}
