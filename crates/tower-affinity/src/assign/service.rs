//! The service of [`AssignLayer`](super::AssignLayer).

use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, RANGE};
use http::{Method, Request, Response};
use tower_affinity_core::{Cause, Cohort, Decision, Kind, LiveCounts};
use tower_service::Service;

use super::future::{Answer, ResponseFuture, Undecided};
use super::hand_on::{self, hand_on};
use super::hop;
use super::question::{Asking, Question, With};
use super::refuse::{refusal, visited};
use super::state::{State, View};
use crate::problem::is_grpc;
use crate::record::Reload;
use crate::wire::{Presented, Sent, Unmarked, is_navigation};
use crate::{Affinity, spans};

/// Decides which group serves a request; see the [module](super).
#[derive(Clone, Debug)]
pub struct Assign<S> {
    inner: S,
    state: Arc<State>,
    /// That of the request before: as long as nothing is published, the next one looks for no other.
    view: Arc<View>,
}

impl<S> Assign<S> {
    pub(super) fn new(inner: S, state: Arc<State>) -> Self {
        let view = state.view();
        Self { inner, state, view }
    }
}

impl<S> Assign<S> {
    /// Decides a request that shows this, and sends it on or answers it.
    #[inline]
    pub(crate) fn decide<B, R>(
        &mut self,
        mut request: Request<B>,
        mut presented: Option<Presented>,
    ) -> ResponseFuture<S, B, R>
    where
        S: Service<Request<B>, Response = Response<R>> + Clone,
        R: From<Bytes>,
    {
        if let Some(visit) = presented.as_ref().and_then(|presented| presented.visit) {
            let decision = Decision {
                kind: Kind::Refused,
                cause: Cause::Early,
                group: None,
                pin: None,
                issue: false,
                cohort: Cohort::None,
                endpoint_key: None,
            };
            let response = visited(visit);
            self.state.recorder.refused(&decision, response.status());
            let affinity = Affinity::new(decision);
            let grpc = is_grpc(request.headers());
            return ResponseFuture::answered(Answer::refused(response, affinity, grpc));
        }
        let hop = presented
            .as_mut()
            .and_then(|presented| presented.hop.take());
        if let Some(decision) = hop {
            if let Some(carries) = presented.and_then(|presented| presented.carries) {
                hand_on::received(&mut request, &self.state, *carries);
            }
            let answer = hop::serve(&mut self.inner, &self.state, request, *decision);
            return ResponseFuture::answered(answer);
        }
        let shows_pin = presented.as_ref().is_some_and(Presented::shows_pin);
        if request.extensions().get::<Unmarked>().is_some() && !shows_pin {
            return ResponseFuture::answered(hop::unmarked(&self.state, &request));
        }
        let experiments = self.state.experiments.as_ref();
        let keys = experiments.map(|all| all.keys(&self.state.salt, request.headers()));
        if !self.state.is_current(&self.view) {
            self.view = self.state.view();
        }
        let view = Arc::clone(&self.view);
        let mut question = Question::new(&self.state, view, presented, keys.unwrap_or_default());
        match question.ask(&self.state) {
            Asking::Decided(affinity) => {
                let (inner, with) = (&mut self.inner, question.with());
                ResponseFuture::answered(serve(inner, &self.state, request, affinity, with))
            }
            Asking::Wait(wait) => {
                // the service that said it is ready is the one that is called later
                let clone = self.inner.clone();
                let inner = mem::replace(&mut self.inner, clone);
                let state = Arc::clone(&self.state);
                ResponseFuture::waiting(Undecided {
                    question,
                    wait,
                    inner,
                    request,
                    state,
                })
            }
        }
    }
}

impl<S, B, R> Service<Request<B>> for Assign<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    R: From<Bytes>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S, B, R>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let presented = request.extensions_mut().remove();
        self.decide(request, presented)
    }
}

/// Sends a request on that is decided, or answers it.
#[inline]
pub(super) fn serve<S, B, R>(
    inner: &mut S,
    state: &Arc<State>,
    mut request: Request<B>,
    affinity: Affinity,
    with: With,
) -> Answer<S::Future, R>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: From<Bytes>,
{
    let With {
        mut settle,
        carries,
        live,
        span,
        sent,
    } = with;
    let decision = affinity.decision();
    if let Some(span) = span {
        spans::decided(&span, decision);
    }
    let grpc = sent.has(Sent::CONTENT_TYPE) && is_grpc(request.headers());
    if decision.kind == Kind::Refused {
        let response = refusal(decision, &settle);
        state.recorder.refused(decision, response.status());
        if matches!(decision.cause, Cause::AbortedEnd | Cause::Gone) {
            settle.ended(state, decision);
        }
        return Answer::refused(response, affinity, grpc);
    }
    if decision.kind == Kind::Moved && !is_navigation(request.method(), request.headers()) {
        settle.reloads(Reload::Moved);
    }
    let begins = matches!(
        decision.kind,
        Kind::Assigned | Kind::Moved | Kind::Overridden
    );
    if begins && sent.has(Sent::PARTS) {
        ask_for_all(&mut request);
    }
    if matches!(live, LiveCounts::Known(_)) && decision.takes_endpoint() {
        request.extensions_mut().insert(live);
    }
    if let Some(carries) = carries {
        settle.handed_on(hand_on(&mut request, state, decision, *carries));
    }
    request.extensions_mut().insert(affinity.clone());
    if let Some(arms) = settle.arms() {
        request.extensions_mut().insert(arms.clone());
    }
    Answer::inner(
        inner.call(request),
        affinity,
        settle,
        Arc::clone(state),
        grpc,
    )
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
