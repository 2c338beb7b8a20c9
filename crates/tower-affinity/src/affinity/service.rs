//! The service of [`AffinityLayer`](super::AffinityLayer).

use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use tower_service::Service;

use crate::assign::{self, Assign};
use crate::wire::{self, PinService};

/// Keeps sessions on the commit on which they began: a [`PinService`] around an [`Assign`], which hears
/// what the application says as a [`SignalService`](crate::signal::SignalService) inside of it would.
/// The first hands what it has read to the second itself, and not in an extension of the request.
#[derive(Clone, Debug)]
pub struct AffinityService<S>(PinService<Assign<S>>);

impl<S> AffinityService<S> {
    pub(super) fn new(service: PinService<Assign<S>>) -> Self {
        Self(service)
    }
}

impl<S, B, R> Service<Request<B>> for AffinityService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    R: From<Bytes>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = wire::ResponseFuture<assign::ResponseFuture<S, B, R>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        <PinService<_> as Service<Request<B>>>::poll_ready(&mut self.0, cx)
    }

    #[inline]
    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.0.call_with(request, |assign, request, presented| {
            assign.decide(request, Some(presented))
        })
    }
}
