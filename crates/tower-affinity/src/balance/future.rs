//! The future of [`GroupBalance`](super::GroupBalance).

use std::borrow::Cow;
use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http::{Extensions, Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;
use tracing::Span;

use super::attempt::{Attempt, Failure};
use super::body::BalanceBody;
use super::connect::Connect;
use super::error::{Error, Unserved};
use super::replay::ReplayBody;
use super::retry::Plan;
use super::settings::{Settings, Shared};
use crate::BoxError;

/// Waits until the endpoint's service is ready, calls it, and ties the lease to the answer; as long as
/// that fails and may be tried again, once more.
///
/// It is one box, whatever is in it: each layer outside moves this future, and to move what the
/// endpoint's future and another attempt need through all of them would cost more.
pub struct ResponseFuture<C, B>(Pin<Box<Serving<C, B>>>)
where
    C: Connect<ReplayBody<B>>;

pin_project! {
    struct Serving<C, B>
    where
        C: Connect<ReplayBody<B>>,
    {
        #[pin]
        state: State<C::Service, B>,
        // the present one, until it has ended
        attempt: Option<Attempt>,
        // what further ones need
        again: Option<Plan<B>>,
        shared: Arc<Shared<C>>,
        // the present attempt's
        span: Span,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<S, B>
    where
        S: Service<Request<ReplayBody<B>>>,
    {
        // boxed: few wait, and all others would move the room for it
        Waiting { waiting: Option<Box<(S, Request<ReplayBody<B>>)>> },
        // the service failed before the request
        Refused { error: Option<BoxError> },
        Called { #[pin] answer: S::Future },
        Unserved { unserved: Option<Unserved> },
        Done,
    }
}

impl<C, B> ResponseFuture<C, B>
where
    C: Connect<ReplayBody<B>>,
    <C::Service as Service<Request<ReplayBody<B>>>>::Error: Into<BoxError>,
{
    /// Begins with `attempt`; `again` is what further ones need.
    pub(super) fn begin(
        shared: Arc<Shared<C>>,
        mut request: Request<ReplayBody<B>>,
        attempt: Attempt,
        again: Option<Plan<B>>,
    ) -> Self {
        let extensions = match &again {
            Some(plan) => Cow::Borrowed(plan.extensions()),
            None => Cow::Owned(mem::take(request.extensions_mut())),
        };
        let span = attempt.begin(&extensions);
        // a service that has to be waited for is asked again when it is known who waits
        let mut nobody = Context::from_waker(Waker::noop());
        let connect = &*shared.connect;
        Self(Box::pin(Serving {
            state: State::attempt(connect, request, extensions, &attempt, &span, &mut nobody),
            attempt: Some(attempt),
            again,
            shared,
            span,
        }))
    }

    pub(super) fn unserved(shared: Arc<Shared<C>>, unserved: Unserved) -> Self {
        let unserved = Some(unserved);
        Self(Box::pin(Serving {
            state: State::Unserved { unserved },
            attempt: None,
            again: None,
            shared,
            span: Span::none(),
        }))
    }
}

impl<S, B> State<S, B>
where
    S: Service<Request<ReplayBody<B>>>,
    S::Error: Into<BoxError>,
{
    /// Has `connect` begin with `request`, which gets its `extensions` here.
    fn attempt<C>(
        connect: &C,
        mut request: Request<ReplayBody<B>>,
        mut extensions: Cow<'_, Extensions>,
        attempt: &Attempt,
        span: &Span,
        cx: &mut Context<'_>,
    ) -> Self
    where
        C: Connect<ReplayBody<B>, Service = S>,
    {
        attempt.tell(request.headers_mut(), &mut extensions);
        let (service, extensions) = connect.attempt(&attempt.lease, extensions);
        *request.extensions_mut() = extensions;
        Self::ask(service, request, span, cx)
    }

    /// Calls the service if it is ready.
    fn ask(
        mut service: S,
        request: Request<ReplayBody<B>>,
        span: &Span,
        cx: &mut Context<'_>,
    ) -> Self {
        let _within = span.enter();
        match service.poll_ready(cx) {
            Poll::Ready(Ok(())) => Self::Called {
                answer: service.call(request),
            },
            Poll::Ready(Err(error)) => Self::Refused {
                error: Some(error.into()),
            },
            Poll::Pending => Self::Waiting {
                waiting: Some(Box::new((service, request))),
            },
        }
    }
}

/// What an error of the endpoint's service means, before its call or after.
type Fails = fn(Attempt, &Settings, BoxError) -> Failure;

impl<C, B, R> Future for ResponseFuture<C, B>
where
    B: Body<Data = Bytes>,
    C: Connect<ReplayBody<B>>,
    C::Service: Service<Request<ReplayBody<B>>, Response = Response<R>>,
    <C::Service as Service<Request<ReplayBody<B>>>>::Error: Into<BoxError>,
{
    type Output = Result<Response<BalanceBody<R>>, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl<C, B, R> Future for Serving<C, B>
where
    B: Body<Data = Bytes>,
    C: Connect<ReplayBody<B>>,
    C::Service: Service<Request<ReplayBody<B>>, Response = Response<R>>,
    <C::Service as Service<Request<ReplayBody<B>>>>::Error: Into<BoxError>,
{
    type Output = Result<Response<BalanceBody<R>>, Error>;

    #[expect(clippy::panic, reason = "a future is not polled after it is ready")]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let ended = match this.state.as_mut().project() {
                StateProj::Waiting { waiting } => {
                    let Some(waiting) = waiting.take() else {
                        panic!("polled after the endpoint's service has panicked")
                    };
                    let (service, request) = *waiting;
                    let next = State::ask(service, request, this.span, cx);
                    let waits = matches!(next, State::Waiting { .. });
                    this.state.set(next);
                    if waits {
                        return Poll::Pending;
                    }
                    continue;
                }
                StateProj::Refused { error } => match error.take() {
                    Some(error) => Err((error, Attempt::refused as Fails)),
                    None => panic!("polled after it was ready"),
                },
                StateProj::Called { answer } => {
                    let _within = this.span.enter();
                    ready!(answer.poll(cx))
                        .map_err(|error| (error.into(), Attempt::failed as Fails))
                }
                StateProj::Unserved { unserved } => match unserved.take() {
                    Some(unserved) => return Poll::Ready(Err(Error::Unserved(unserved))),
                    None => panic!("polled after it was ready"),
                },
                StateProj::Done => panic!("polled after it was ready"),
            };
            // what it was leaves its place before the next attempt takes one
            this.state.set(State::Done);
            let Some(attempt) = this.attempt.take() else {
                panic!("an attempt ends once")
            };
            let Shared { settings, connect } = &**this.shared;
            let failure = match ended {
                Ok(response) => {
                    let status = response.status().as_u16();
                    this.span.record("http.response.status_code", status);
                    match attempt.answered(settings, response) {
                        Ok(response) => return Poll::Ready(Ok(response)),
                        Err(failure) => failure,
                    }
                }
                Err((error, fails)) => fails(attempt, settings, error),
            };
            this.span.record("error.type", failure.harm.as_str());
            let Some(plan) = this.again.as_mut() else {
                return Poll::Ready(Err(failure.answer(settings)));
            };
            match plan.next(settings, failure) {
                Ok((attempt, mut request)) => {
                    let extensions = Cow::Owned(mem::take(request.extensions_mut()));
                    *this.span = attempt.begin(&extensions);
                    let state =
                        State::attempt(&**connect, request, extensions, &attempt, this.span, cx);
                    this.state.set(state);
                    *this.attempt = Some(attempt);
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl<C, B> fmt::Debug for ResponseFuture<C, B>
where
    C: Connect<ReplayBody<B>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.0.state {
            State::Waiting { .. } => "waiting",
            State::Refused { .. } => "refused",
            State::Called { .. } => "called",
            State::Unserved { .. } => "unserved",
            State::Done => "done",
        };
        f.debug_tuple("ResponseFuture").field(&state).finish()
    }
}
