//! The layer and its service.

use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Version, header};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;

use super::{DiscardBody, DiscardLimits};

/// Reads on where a body is dropped; see the [module](super).
#[derive(Clone, Debug)]
pub(crate) struct DiscardLayer {
    limits: Arc<DiscardLimits>,
}

impl DiscardLayer {
    pub(crate) fn new(limits: DiscardLimits) -> Self {
        Self {
            limits: Arc::new(limits),
        }
    }
}

impl<S> Layer<S> for DiscardLayer {
    type Service = Discard<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Discard {
            inner,
            limits: Arc::clone(&self.limits),
        }
    }
}

/// Made by [`DiscardLayer`].
#[derive(Clone, Debug)]
pub(crate) struct Discard<S> {
    inner: S,
    limits: Arc<DiscardLimits>,
}

impl<S, B> Service<Request<B>> for Discard<S>
where
    S: Service<Request<DiscardBody<B>>>,
    B: Body + Send + Unpin + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        // HTTP/2 is not asked by a look at the body
        let unasked = !request.body().is_end_stream()
            && request.version() < Version::HTTP_2
            && request.headers().contains_key(header::EXPECT);
        let limits = &self.limits;
        self.inner
            .call(request.map(|body| DiscardBody::new(body, limits, unasked)))
    }
}
