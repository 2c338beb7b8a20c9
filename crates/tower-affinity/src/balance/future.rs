//! The future of [`GroupBalance`](super::GroupBalance).

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;
use tracing::Span;

use super::attempt::Attempt;
use super::body::BalanceBody;
use super::connect::Connect;
use super::error::{Error, Unserved};
use super::replay::ReplayBody;
use super::retry::Plan;
use crate::BoxError;

pin_project! {
    /// Waits until the endpoint's service is ready, calls it, and ties the lease to the answer; as
    /// long as that fails and may be tried again, once more.
    pub struct ResponseFuture<C, B>
    where
        C: Connect<ReplayBody<B>>,
    {
        #[pin]
        state: State<C::Service, B>,
        again: Option<(Plan<B>, C)>,
        // the present attempt's
        span: Span,
    }
}

pin_project! {
    #[project = StateProj]
    #[project_replace = StateReplace]
    enum State<S, B>
    where
        S: Service<Request<ReplayBody<B>>>,
    {
        Waiting { service: S, request: Request<ReplayBody<B>>, attempt: Attempt },
        Called { #[pin] answer: S::Future, attempt: Attempt },
        Unserved { unserved: Unserved },
        Done,
    }
}

impl<C, B> ResponseFuture<C, B>
where
    C: Connect<ReplayBody<B>>,
{
    /// Begins with `attempt`; `again` is what further ones need.
    pub(super) fn begin(
        connect: &C,
        request: Request<ReplayBody<B>>,
        attempt: Attempt,
        again: Option<(Plan<B>, C)>,
    ) -> Self {
        let span = attempt.begin(&request);
        Self {
            state: State::wait(connect, request, attempt),
            again,
            span,
        }
    }

    pub(super) fn unserved(unserved: Unserved) -> Self {
        Self {
            state: State::Unserved { unserved },
            again: None,
            span: Span::none(),
        }
    }
}

impl<S, B> State<S, B>
where
    S: Service<Request<ReplayBody<B>>>,
{
    fn wait<C>(connect: &C, mut request: Request<ReplayBody<B>>, attempt: Attempt) -> Self
    where
        C: Connect<ReplayBody<B>, Service = S>,
    {
        attempt.tell(&mut request);
        request.extensions_mut().insert(attempt.lease.clone());
        Self::Waiting {
            service: connect.connect(attempt.lease.endpoint()),
            request,
            attempt,
        }
    }
}

impl<C, B, R> Future for ResponseFuture<C, B>
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
            // what the present state has to wait for
            let ended = match this.state.as_mut().project() {
                StateProj::Waiting { service, .. } => {
                    let _within = this.span.enter();
                    ready!(service.poll_ready(cx))
                        .map(|()| None)
                        .map_err(Into::into)
                }
                StateProj::Called { answer, .. } => {
                    let _within = this.span.enter();
                    ready!(answer.poll(cx)).map(Some).map_err(Into::into)
                }
                StateProj::Unserved { .. } | StateProj::Done => Ok(None),
            };
            // what it was leaves its place before the next attempt takes one
            let failure = match this.state.as_mut().project_replace(State::Done) {
                StateReplace::Waiting {
                    mut service,
                    request,
                    attempt,
                } => match ended {
                    Ok(_) => {
                        let answer = this.span.in_scope(|| service.call(request));
                        this.state.set(State::Called { answer, attempt });
                        continue;
                    }
                    Err(error) => attempt.refused(error),
                },
                StateReplace::Called { attempt, .. } => match ended {
                    Ok(Some(response)) => {
                        let status = response.status().as_u16();
                        this.span.record("http.response.status_code", status);
                        match attempt.answered(response) {
                            Ok(response) => return Poll::Ready(Ok(response)),
                            Err(failure) => failure,
                        }
                    }
                    Err(error) => attempt.failed(error),
                    Ok(None) => panic!("the state that was just polled has changed"),
                },
                StateReplace::Unserved { unserved } => {
                    return Poll::Ready(Err(Error::Unserved(unserved)));
                }
                StateReplace::Done => panic!("polled after it was ready"),
            };
            this.span.record("error.type", failure.harm.as_str());
            let Some((plan, connect)) = this.again.as_mut() else {
                return Poll::Ready(Err(failure.answer()));
            };
            match plan.next(failure) {
                Ok((attempt, request)) => {
                    *this.span = attempt.begin(&request);
                    this.state.set(State::wait(connect, request, attempt));
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
        let state = match &self.state {
            State::Waiting { .. } => "waiting",
            State::Called { .. } => "called",
            State::Unserved { .. } => "unserved",
            State::Done => "done",
        };
        f.debug_tuple("ResponseFuture").field(&state).finish()
    }
}
