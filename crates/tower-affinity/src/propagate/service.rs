//! The service of [`PropagateLayer`](super::PropagateLayer).

use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

use super::context::Propagation;
use super::current;
use super::destinations::Destinations;
use super::future::ResponseFuture;

/// Takes a session along on requests to other services; see the [module](super).
#[derive(Clone, Debug)]
pub struct Propagate<S> {
    inner: S,
    destinations: Arc<Destinations>,
}

impl<S> Propagate<S> {
    pub(super) fn new(inner: S, destinations: Arc<Destinations>) -> Self {
        Self {
            inner,
            destinations,
        }
    }
}

impl<S, B, R> Service<Request<B>> for Propagate<S>
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
        let goes = self.destinations.have(&request);
        let given = request.extensions_mut().remove::<Propagation>();
        if let Some(propagation) = given.or_else(current::propagation).filter(|_| goes) {
            propagation.apply(request.headers_mut());
        }
        ResponseFuture::new(self.inner.call(request))
    }
}
