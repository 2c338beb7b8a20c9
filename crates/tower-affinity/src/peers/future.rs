//! The future of [`PeerForward`](super::PeerForward).

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::sending::{Sending, Underway};
use crate::BoxError;
use crate::balance::{self, BalanceBody, Connect, ReplayBody};
use crate::record::PeerOutcome;
use crate::respond::Answer;

pin_project! {
    /// Waits for the local service or for a peer.
    pub struct ResponseFuture<F, C, B, L>
    where
        C: Connect<ReplayBody<B>>,
    {
        #[pin]
        state: State<F, C, B, L>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F, C, B, L>
    where
        C: Connect<ReplayBody<B>>,
    {
        Local { #[pin] answer: F },
        // boxed: the way to a peer is far longer, and local answers need no room for it
        Forwarded { answer: Pin<Box<balance::ResponseFuture<C, B>>>, underway: Underway },
        Answered { response: Option<Response<L>> },
    }
}

impl<F, C, B, L> ResponseFuture<F, C, B, L>
where
    C: Connect<ReplayBody<B>>,
{
    pub(super) fn local(answer: F) -> Self {
        Self {
            state: State::Local { answer },
        }
    }

    pub(super) fn forwarded(answer: balance::ResponseFuture<C, B>, underway: Underway) -> Self {
        Self {
            state: State::Forwarded {
                answer: Box::pin(answer),
                underway,
            },
        }
    }

    pub(super) fn answered(response: Response<L>) -> Self {
        Self {
            state: State::Answered {
                response: Some(response),
            },
        }
    }
}

impl<F, C, B, L, R, E> Future for ResponseFuture<F, C, B, L>
where
    F: Future<Output = Result<Response<L>, E>>,
    L: From<Bytes> + From<BalanceBody<R>>,
    B: Body<Data = Bytes>,
    C: Connect<ReplayBody<B>>,
    C::Service: Service<Request<ReplayBody<B>>, Response = Response<R>>,
    <C::Service as Service<Request<ReplayBody<B>>>>::Error: Into<BoxError>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(match self.project().state.project() {
            StateProj::Local { answer } => return answer.poll(cx),
            StateProj::Forwarded { answer, underway } => match ready!(answer.as_mut().poll(cx)) {
                Ok(mut response) => {
                    underway.end(PeerOutcome::Forwarded);
                    Sending::restore(&mut response);
                    response.map(L::from)
                }
                Err(error) => {
                    underway.end(PeerOutcome::Failed);
                    Answer::to(&error.into(), |_| None).response()
                }
            },
            #[expect(
                clippy::expect_used,
                reason = "a future is not polled after it is ready"
            )]
            StateProj::Answered { response } => response.take().expect("polled after it was ready"),
        }))
    }
}

impl<F, C, B, L> fmt::Debug for ResponseFuture<F, C, B, L>
where
    C: Connect<ReplayBody<B>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Local { .. } => "local",
            State::Forwarded { .. } => "forwarded",
            State::Answered { .. } => "answered",
        };
        f.debug_tuple("ResponseFuture").field(&state).finish()
    }
}
