//! A service whose requests have a place on the heap.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower_service::Service;

/// Gives each request of a service one box: for its future, and after that for the body of its
/// answer.
///
/// Each layer outside moves both into its own, most of them twice, and the server does so again. What
/// is large is cheaper where it lies still.
#[derive(Clone, Debug)]
pub(crate) struct Boxed<S>(pub(crate) S);

impl<S, Q, B> Service<Q> for Boxed<S>
where
    S: Service<Q, Response = Response<B>>,
{
    type Response = Response<BoxedBody<S::Future, B>>;
    type Error = S::Error;
    type Future = BoxedFuture<S::Future, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let future = self.0.call(request);
        BoxedFuture(Some(Box::pin(Place::Waiting { future })))
    }
}

pin_project! {
    /// What is in the box.
    #[project = PlaceProj]
    #[derive(Debug)]
    enum Place<F, B> {
        Waiting { #[pin] future: F },
        Answered { #[pin] body: B },
    }
}

/// The future of [`Boxed`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub(crate) struct BoxedFuture<F, B>(Option<Pin<Box<Place<F, B>>>>);

impl<F, B, E> Future for BoxedFuture<F, B>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<BoxedBody<F, B>>, E>;

    #[expect(clippy::panic, reason = "a future is not polled after it is ready")]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(mut place) = self.0.take() else {
            panic!("polled after it was ready")
        };
        let PlaceProj::Waiting { future } = place.as_mut().project() else {
            panic!("a place is given away with its body")
        };
        let Poll::Ready(answer) = future.poll(cx) else {
            self.0 = Some(place);
            return Poll::Pending;
        };
        Poll::Ready(answer.map(|answer| {
            answer.map(|body| {
                place.set(Place::Answered { body });
                BoxedBody(place)
            })
        }))
    }
}

/// The body of an answer of [`Boxed`].
#[derive(Debug)]
pub(crate) struct BoxedBody<F, B>(Pin<Box<Place<F, B>>>);

impl<F, B> BoxedBody<F, B> {
    fn body(&self) -> Option<&B> {
        match &*self.0 {
            Place::Answered { body } => Some(body),
            Place::Waiting { .. } => None,
        }
    }
}

impl<F, B: From<Bytes>> From<Bytes> for BoxedBody<F, B> {
    fn from(bytes: Bytes) -> Self {
        let body = B::from(bytes);
        Self(Box::pin(Place::Answered { body }))
    }
}

impl<F, B: Body> Body for BoxedBody<F, B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        match self.0.as_mut().project() {
            PlaceProj::Answered { body } => body.poll_frame(cx),
            PlaceProj::Waiting { .. } => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}
