//! The answer of the inner service, or our own.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::Response;
use pin_project_lite::pin_project;
use tower_affinity::speak_grpc;

use super::refusal::Refusal;

pin_project! {
    /// The future of [`Edge`](super::Edge).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct ResponseFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    #[derive(Debug)]
    enum State<F> {
        Passed { #[pin] inner: F },
        Refused { refusal: Refusal, grpc: bool },
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn passed(inner: F) -> Self {
        Self {
            state: State::Passed { inner },
        }
    }

    /// `grpc`: whether the client reads gRPC's statuses instead of HTTP's.
    pub(super) fn refused(refusal: Refusal, grpc: bool) -> Self {
        Self {
            state: State::Refused { refusal, grpc },
        }
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: From<Bytes>,
{
    type Output = Result<Response<R>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Passed { inner } => inner.poll(cx),
            StateProj::Refused { refusal, grpc } => {
                let mut answer = refusal.answer();
                if *grpc {
                    speak_grpc(&mut answer);
                }
                Poll::Ready(Ok(answer))
            }
        }
    }
}
