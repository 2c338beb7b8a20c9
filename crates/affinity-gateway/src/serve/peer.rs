//! Tells each request who sent it, and over what.

use std::{
    net::SocketAddr,
    task::{Context, Poll},
};

use http::Request;
use tower_affinity::PeerAddr;
use tower_service::Service;

use crate::scheme::Scheme;

/// Puts the [`PeerAddr`] of one connection into each of its requests, and its [`Scheme`] unless it is
/// the default.
#[derive(Clone, Debug)]
pub(super) struct WithPeer<S> {
    inner: S,
    peer: PeerAddr,
    scheme: Scheme,
}

impl<S> WithPeer<S> {
    pub(super) fn new(inner: S, peer: SocketAddr, scheme: Scheme) -> Self {
        Self {
            inner,
            peer: PeerAddr(peer),
            scheme,
        }
    }
}

impl<S, B> Service<Request<B>> for WithPeer<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        if self.scheme != Scheme::default() {
            request.extensions_mut().insert(self.scheme);
        }
        self.inner.call(request)
    }
}
