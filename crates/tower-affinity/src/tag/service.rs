//! The service of [`GroupTagLayer`](super::GroupTagLayer).

use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

use super::future::ResponseFuture;
use super::names;
use crate::carrier::header;
use crate::misplaced::Misplaced;
use crate::propagate::ForEndpoint;
use crate::{Affinity, Arms};

/// Names the group to the endpoint and removes spoofed names; see the [module](super).
#[derive(Clone, Debug)]
pub struct GroupTag<S> {
    inner: S,
    misplaced: Misplaced,
}

impl<S> GroupTag<S> {
    pub(super) fn new(inner: S, misplaced: Misplaced) -> Self {
        Self { inner, misplaced }
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

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        names::remove_spoofed(request.headers_mut());
        if let Some(affinity) = request.extensions().get::<Affinity>().cloned() {
            names::set(request.headers_mut(), &affinity);
        }
        if let Some(arms) = request.extensions().get::<Arms>().cloned() {
            names::set_arms(request.headers_mut(), &arms);
        }
        if let Some(ForEndpoint(pin)) = request.extensions_mut().remove() {
            request.headers_mut().insert(header::PIN, pin);
        }
        let misplaced = self.misplaced.outside(request.extensions());
        ResponseFuture::new(self.inner.call(request), misplaced)
    }
}
