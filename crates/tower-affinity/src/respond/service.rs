//! The service of [`RespondLayer`](super::RespondLayer).

use std::convert::Infallible;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use tower_service::Service;

use super::answer::{Answer, Foreign};
use super::future::ResponseFuture;
use crate::BoxError;

/// Turns errors into answers; see the [module](super).
#[derive(Debug)]
pub struct Respond<S> {
    inner: S,
    foreign: Foreign,
    /// The inner service failed before the request that it was asked to be ready for.
    failed: Option<Answer>,
}

impl<S> Respond<S> {
    pub(super) fn new(inner: S, foreign: Foreign) -> Self {
        Self {
            inner,
            foreign,
            failed: None,
        }
    }
}

impl<S: Clone> Clone for Respond<S> {
    /// A clone begins unready, so it has not failed yet.
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), self.foreign)
    }
}

impl<S, B, R> Service<Request<B>> for Respond<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<BoxError>,
    R: From<Bytes>,
{
    type Response = S::Response;
    type Error = Infallible;
    type Future = ResponseFuture<S::Future>;

    /// Never fails: an error of the inner service is kept and becomes the next call's answer.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        if self.failed.is_none()
            && let Err(error) = ready!(self.inner.poll_ready(cx))
        {
            self.failed = Some(Answer::to(&error.into(), self.foreign));
        }
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        match self.failed.take() {
            Some(answer) => ResponseFuture::failed(answer),
            None => ResponseFuture::inner(self.inner.call(request), self.foreign),
        }
    }
}
