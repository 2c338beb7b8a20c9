//! The service of [`FromGatewayLayer`](super::FromGatewayLayer).

use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tower_service::Service;

use super::future::ResponseFuture;
use super::shared::Shared;
use crate::carrier::header::PIN;
use crate::{Affinity, Propagation, tag};

/// Makes [`Affinity`] from what a gateway says; see the [module](super).
#[derive(Clone, Debug)]
pub struct FromGateway<S> {
    inner: S,
    shared: Arc<Shared>,
}

impl<S> FromGateway<S> {
    pub(super) fn new(inner: S, shared: Arc<Shared>) -> Self {
        Self { inner, shared }
    }
}

impl<S, B, R> Service<Request<B>> for FromGateway<S>
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
        if request.extensions().get::<Affinity>().is_some() {
            self.shared.both();
        }
        let read = self.shared.read(request.extensions(), request.headers());
        let told = read.unwrap_or_else(|why| {
            tag::remove_spoofed(request.headers_mut());
            self.shared.rejected(why);
            None
        });
        let affinity = told.map(|(affinity, arms)| {
            // a gateway sends a pin in scopes that propagate
            if request.headers().contains_key(PIN) {
                let recorder = &self.shared.recorder;
                let context = Propagation::from_headers(request.headers(), recorder);
                request.extensions_mut().insert(context);
            }
            request.extensions_mut().insert(arms);
            request.extensions_mut().insert(affinity.clone());
            affinity
        });
        ResponseFuture::new(self.inner.call(request), affinity, Arc::clone(&self.shared))
    }
}
