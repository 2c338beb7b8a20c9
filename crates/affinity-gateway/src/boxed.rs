//! A service whose answers are easy to move.

use std::pin::Pin;
use std::task::{Context, Poll};

use tower_service::Service;

/// Keeps the futures of a service on the heap.
///
/// Each layer moves the future of the next one into its own, most of them twice. A large future
/// below many layers is cheaper where it lies still.
#[derive(Clone, Debug)]
pub(crate) struct Boxed<S>(pub(crate) S);

impl<S: Service<Q>, Q> Service<Q> for Boxed<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<S::Future>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        Box::pin(self.0.call(request))
    }
}
