//! The service: pass on or answer.

use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use tower_affinity::{ClientAddr, PeerAddr, is_grpc};
use tower_service::Service;

use super::refusal::Refusal;
use super::{EdgeBody, EdgeLayer, ResponseFuture, check::check};

/// Refuses what no endpoint should see; made by [`EdgeLayer`](super::EdgeLayer).
#[derive(Clone, Debug)]
pub struct Edge<S> {
    inner: S,
    settings: EdgeLayer,
}

impl<S> Edge<S> {
    pub(super) fn new(inner: S, settings: EdgeLayer) -> Self {
        Self { inner, settings }
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

    fn name_client<B>(&self, request: &mut Request<B>) {
        let trusted = &self.settings.trusted_proxies;
        if trusted.is_empty() {
            return;
        }
        let client = request
            .extensions()
            .get()
            .and_then(|PeerAddr(peer)| trusted.client(peer.ip(), request.headers()));
        if let Some(client) = client {
            request.extensions_mut().insert(ClientAddr(client));
        }
    }
}

impl<S, B, R> Service<Request<B>> for Edge<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    R: From<Bytes>,
{
    type Response = Response<EdgeBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let settings = &self.settings;
        let place = check(&request, settings.max_target).and_then(|()| {
            let place = settings.requests.place(settings.max_requests);
            place.ok_or(Refusal::overloaded())
        });
        match place {
            Ok(place) => {
                self.name_client(&mut request);
                ResponseFuture::passed(self.inner.call(request), place)
            }
            Err(refusal) => {
                self.settings.recorder.refused(refusal.status);
                ResponseFuture::refused(refusal, is_grpc(request.headers()))
            }
        }
    }
}
