//! What the layer asks of the allocator, and that it awaits the inner service in place.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

#[path = "../benches/pinned/fixture.rs"]
mod fixture;

use std::task::{Context, Poll};

use allocation_counter::measure;
use fixture::{Instant, call, cookies, request, rollouts, token, with_layer};
use http::{Request, Response};
use tower_affinity::AffinityService;
use tower_service::Service;

/// The most that a pinned request may cost.
const LIMIT: u64 = 12;

#[test]
fn a_pinned_request_costs_few_allocations() {
    let mut layered = with_layer(rollouts());
    let cookies = cookies(&token(&mut layered));
    // what is made once for each thread and metric is not this request's
    drop(call(&mut layered, request(Some(&cookies))));
    let (first, second) = (request(Some(&cookies)), request(Some(&cookies)));
    let with = measure(|| drop(call(&mut layered, first))).count_total;
    let without = measure(|| drop(call(&mut Instant, second))).count_total;
    let added = with - without;
    assert!(added > 0, "nothing was counted");
    assert!(added <= LIMIT, "{added} allocations for one pinned request");
}

/// A future of `SIZE` bytes. It is neither polled nor made.
#[derive(Clone, Debug)]
struct OfSize<const SIZE: usize>;

impl<const SIZE: usize> Service<Request<()>> for OfSize<SIZE> {
    type Response = Response<bytes::Bytes>;
    type Error = std::convert::Infallible;
    type Future = Wide<SIZE>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Wide<SIZE> {
        Wide([0; SIZE])
    }
}

struct Wide<const SIZE: usize>([u8; SIZE]);

impl<const SIZE: usize> Future for Wide<SIZE> {
    type Output = Result<Response<bytes::Bytes>, std::convert::Infallible>;

    fn poll(self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(Response::new(bytes::Bytes::copy_from_slice(&self.0))))
    }
}

/// A box would hold a pointer instead of the inner future, whatever its size.
#[test]
fn the_inner_future_is_held_in_place() {
    type FutureOf<S> = <AffinityService<S> as Service<Request<()>>>::Future;
    let narrow = size_of::<FutureOf<OfSize<4096>>>();
    let wide = size_of::<FutureOf<OfSize<8192>>>();
    assert!(
        wide >= narrow + 4096,
        "{narrow} and {wide} bytes: the inner future is boxed"
    );
}
