//! The future of [`Respond`](super::Respond).

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

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

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(match self.project().state.project() {
            StateProj::Inner { inner, foreign } => match ready!(inner.poll(cx)) {
                Ok(response) => response,
                Err(error) => Answer::to(&error.into(), *foreign).response(),
            },
            StateProj::Failed { answer } => answer.response(),
        }))
    }
}
