//! The service of [`GroupTagLayer`](super::GroupTagLayer).

use std::task::{Context, Poll};

use http::header::HeaderValue;
use http::{Request, Response};
use tower_service::Service;

use super::future::ResponseFuture;
use super::tell::tell;
use crate::misplaced::Misplaced;

/// Names the group to the endpoint and removes spoofed names; see the [module](super).
#[derive(Clone, Debug)]
pub struct GroupTag<S> {
    inner: S,
    misplaced: Misplaced,
    /// The group that was named last.
    last: HeaderValue,
}

impl<S> GroupTag<S> {
    pub(super) fn new(inner: S, misplaced: Misplaced) -> Self {
        Self {
            inner,
            misplaced,
            last: HeaderValue::from_static(""),
        }
    }
}

impl<S, B, R> Service<Request<B>> for GroupTag<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let is_told = tell(&mut request, &mut self.last);
        let misplaced = self.misplaced.unless(is_told);
        ResponseFuture::new(self.inner.call(request), misplaced)
    }
}
