//! The answer of the inner service, or our own.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::Response;
use pin_project_lite::pin_project;
use tower_affinity::speak_grpc;

use super::body::EdgeBody;
use super::refusal::Refusal;
use super::requests::Place;

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
        Passed { #[pin] inner: F, place: Option<Place> },
        Refused { refusal: Refusal, grpc: bool },
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn passed(inner: F, place: Place) -> Self {
        let place = Some(place);
        Self {
            state: State::Passed { inner, place },
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
    type Output = Result<Response<EdgeBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Passed { inner, place } => {
                let answer = ready!(inner.poll(cx))?;
                let place = place.take();
                Poll::Ready(Ok(answer.map(|body| EdgeBody::new(body, place))))
            }
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
