//! The future of [`Assign`](super::Assign).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;

use super::settle::Settle;
use super::state::State;
use crate::Affinity;

pin_project! {
    /// Settles the pin once the answer is there, or is our own answer.
    #[derive(Debug)]
    pub struct ResponseFuture<F, R> {
        #[pin]
        answer: Answer<F, R>,
        affinity: Affinity,
    }
}

pin_project! {
    #[project = AnswerProj]
    #[derive(Debug)]
    enum Answer<F, R> {
        Inner { #[pin] inner: F, settle: Settle, state: Arc<State> },
        Refused { response: Option<Response<R>> },
    }
}

impl<F, R> ResponseFuture<F, R> {
    pub(super) fn inner(inner: F, affinity: Affinity, settle: Settle, state: Arc<State>) -> Self {
        Self {
            answer: Answer::Inner {
                inner,
                settle,
                state,
            },
            affinity,
        }
    }

    pub(super) fn refused(response: Response<R>, affinity: Affinity) -> Self {
        Self {
            answer: Answer::Refused {
                response: Some(response),
            },
            affinity,
        }
    }
}

impl<F, R, E> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut response = match this.answer.project() {
            AnswerProj::Inner {
                inner,
                settle,
                state,
            } => {
                let mut response = ready!(inner.poll(cx))?;
                settle.settle(state, this.affinity.decision(), &mut response);
                response
            }
            AnswerProj::Refused { response } =>
            {
                #[expect(
                    clippy::expect_used,
                    reason = "a future is not polled after it is ready"
                )]
                response.take().expect("polled after it was ready")
            }
        };
        response.extensions_mut().insert(this.affinity.clone());
        Poll::Ready(Ok(response))
    }
}
