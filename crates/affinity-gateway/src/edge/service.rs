//! The service: pass on or answer.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Request, Response};
use tower_service::Service;

use super::{EarlyRecorder, ResponseFuture, check::check};

/// Refuses what no endpoint should see; made by [`EdgeLayer`](super::EdgeLayer).
#[derive(Clone)]
pub struct Edge<S> {
    inner: S,
    max_target: usize,
    recorder: Arc<dyn EarlyRecorder>,
}

impl<S> Edge<S> {
    pub(super) fn new(inner: S, max_target: usize, recorder: Arc<dyn EarlyRecorder>) -> Self {
        Self {
            inner,
            max_target,
            recorder,
        }
    }

    /// The inner service.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The inner service, to change.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// The inner service alone.
    #[must_use]
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S, B, R> Service<Request<B>> for Edge<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: From<Bytes>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match check(&request, self.max_target) {
            Ok(()) => ResponseFuture::passed(self.inner.call(request)),
            Err(refusal) => {
                self.recorder.refused(refusal.status);
                ResponseFuture::refused(refusal)
            }
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for Edge<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edge")
            .field("inner", &self.inner)
            .field("max_target", &self.max_target)
            .finish_non_exhaustive()
    }
}
