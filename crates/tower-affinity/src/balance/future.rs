//! The future of [`GroupBalance`](super::GroupBalance).

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::{Request, Response, StatusCode};
use pin_project_lite::pin_project;
use tower_service::Service;

use super::body::BalanceBody;
use super::error::{Error, Unserved};
use super::groups::Groups;
use super::lease::Lease;
use super::outcome::Outcome;
use crate::BoxError;
use crate::assign::MISDIRECTED;
use crate::record::Recorder;

pin_project! {
    /// Waits until the endpoint's service is ready, calls it, and ties the lease to the answer.
    pub struct ResponseFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        state: State<S, B>,
    }
}

pin_project! {
    #[project = StateProj]
    #[project_replace = StateReplace]
    enum State<S, B>
    where
        S: Service<Request<B>>,
    {
        Waiting { service: S, request: Request<B>, placed: Placed },
        Called { #[pin] answer: S::Future, placed: Placed },
        Unserved { unserved: Unserved },
        Done,
    }
}

struct Placed {
    lease: Lease,
    groups: Groups,
    recorder: Recorder,
}

impl<S, B> ResponseFuture<S, B>
where
    S: Service<Request<B>>,
{
    pub(super) fn new(
        service: S,
        request: Request<B>,
        lease: Lease,
        groups: Groups,
        recorder: Recorder,
    ) -> Self {
        Self {
            state: State::Waiting {
                service,
                request,
                placed: Placed {
                    lease,
                    groups,
                    recorder,
                },
            },
        }
    }

    pub(super) fn unserved(unserved: Unserved) -> Self {
        Self {
            state: State::Unserved { unserved },
        }
    }
}

impl<S, B, R> Future for ResponseFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
{
    type Output = Result<Response<BalanceBody<R>>, Error>;

    #[expect(clippy::panic, reason = "a future is not polled after it is ready")]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            match state.as_mut().project() {
                StateProj::Waiting {
                    service, placed, ..
                } => {
                    if let Err(error) = ready!(service.poll_ready(cx)) {
                        let error = placed.failed(error.into());
                        state.set(State::Done);
                        return Poll::Ready(Err(error));
                    }
                }
                StateProj::Called { answer, .. } => {
                    let answer = ready!(answer.poll(cx));
                    let StateReplace::Called { placed, .. } = state.project_replace(State::Done)
                    else {
                        panic!("the state that was just polled has changed");
                    };
                    return Poll::Ready(match answer {
                        Ok(response) => placed.settle(response),
                        Err(error) => Err(placed.failed(error.into())),
                    });
                }
                StateProj::Unserved { .. } | StateProj::Done => {}
            }
            match state.as_mut().project_replace(State::Done) {
                StateReplace::Waiting {
                    mut service,
                    request,
                    placed,
                } => {
                    let answer = service.call(request);
                    state.set(State::Called { answer, placed });
                }
                StateReplace::Unserved { unserved } => {
                    return Poll::Ready(Err(Error::Unserved(unserved)));
                }
                StateReplace::Called { .. } | StateReplace::Done => {
                    panic!("polled after it was ready")
                }
            }
        }
    }
}

impl Placed {
    fn failed(&self, error: BoxError) -> Error {
        if let Some(outcome) = Outcome::of(&error) {
            self.groups.note(&self.lease, outcome);
        }
        Error::Endpoint(error)
    }

    fn settle<R>(self, mut response: Response<R>) -> Result<Response<BalanceBody<R>>, Error> {
        if response.status() == StatusCode::MISDIRECTED_REQUEST
            && response.headers().contains_key(MISDIRECTED)
        {
            self.groups.note(&self.lease, Outcome::WrongGroup);
            let group = self.lease.group().clone();
            self.recorder.wrong_group(&group);
            return Err(Unserved::WrongGroup(group).into());
        }
        let outcome = Outcome::Answered(response.status());
        self.groups.note(&self.lease, outcome);
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            // the body ends at once, so what lasts as long as the tunnel hangs on the lease
            response.extensions_mut().insert(self.lease.clone());
        }
        Ok(response.map(|body| BalanceBody::new(body, self.lease)))
    }
}

impl<S, B> fmt::Debug for ResponseFuture<S, B>
where
    S: Service<Request<B>>,
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
