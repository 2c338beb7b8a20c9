//! The future of [`Respond`](super::Respond).

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use pin_project_lite::pin_project;

use super::answer::{Answer, Foreign};
use crate::BoxError;

pin_project! {
    /// Waits for an answer or an error that becomes one.
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    #[derive(Debug)]
    enum State<F> {
        Inner { #[pin] inner: F, foreign: Foreign },
        Failed { answer: Answer },
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn inner(inner: F, foreign: Foreign) -> Self {
        Self {
            state: State::Inner { inner, foreign },
        }
    }

    pub(super) fn failed(answer: Answer) -> Self {
        Self {
            state: State::Failed { answer },
        }
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: From<Bytes>,
    E: Into<BoxError>,
{
    type Output = Result<Response<R>, Infallible>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = match self.project().state.project() {
            // an answer is large: it goes through in one step
            StateProj::Inner { inner, foreign } => match inner.poll(cx) {
                Poll::Ready(Ok(response)) => return Poll::Ready(Ok(response)),
                Poll::Ready(Err(error)) => Answer::to(&error.into(), *foreign),
                Poll::Pending => return Poll::Pending,
            },
            StateProj::Failed { answer } => *answer,
        };
        Poll::Ready(Ok(answer.response()))
    }
}
