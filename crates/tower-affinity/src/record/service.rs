//! The service of [`GroupMetricsLayer`](super::GroupMetricsLayer).

use std::task::{Context, Poll};

use http::{Method, Request, Response};
use http_body::Body;
use tower_service::Service;

use super::body::MetricsBody;
use super::future::ResponseFuture;
use super::head::Heads;
use super::recorder::Recorder;
use crate::misplaced::Misplaced;

/// Counts and times requests per group; see the [module](super).
#[derive(Clone, Debug)]
pub struct GroupMetrics<S> {
    pub(super) inner: S,
    pub(super) misplaced: Misplaced,
    pub(super) recorder: Recorder,
    pub(super) heads: Heads,
}

impl<S, B, R> Service<Request<B>> for GroupMetrics<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: Body,
{
    type Response = Response<MetricsBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        let running = self.recorder.start(request.extensions());
        let is_head = request.method() == Method::HEAD;
        let misplaced = self.misplaced.unless(running.affinity().is_some());
        ResponseFuture::new(
            self.inner.call(request),
            running,
            self.heads.clone(),
            is_head,
            misplaced,
        )
    }
}
