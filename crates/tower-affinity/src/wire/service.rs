//! The service of [`PinLayer`](super::PinLayer).

use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

use super::future::ResponseFuture;
use super::read::Presented;
use super::shared::Wire;
use crate::Affinity;

/// Reads pins from requests and writes them on answers; see the [module](super).
#[derive(Clone, Debug)]
pub struct PinService<S> {
    inner: S,
    wire: Arc<Wire>,
}

impl<S> PinService<S> {
    pub(super) fn new(inner: S, wire: Arc<Wire>) -> Self {
        Self { inner, wire }
    }

    /// Reads a request, and has `call` take it on with what it shows.
    #[inline]
    pub(crate) fn call_with<B, F>(
        &mut self,
        mut request: Request<B>,
        call: impl FnOnce(&mut S, Request<B>, Presented) -> F,
    ) -> ResponseFuture<F> {
        if request.extensions().get::<Affinity>().is_some() {
            self.wire.misplaced.say(
                "PinLayer",
                "another layer has decided this request before its pin was read: one affinity \
                 layer for each route, and PinLayer outside of AssignLayer",
            );
        }
        let (presented, came) = self.wire.read(&mut request);
        let inner = call(&mut self.inner, request, presented);
        ResponseFuture::new(inner, Arc::clone(&self.wire), came)
    }
}

impl<S, B, R> Service<Request<B>> for PinService<S>
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
    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.call_with(request, |inner, mut request, presented| {
            request.extensions_mut().insert(presented);
            inner.call(request)
        })
    }
}
