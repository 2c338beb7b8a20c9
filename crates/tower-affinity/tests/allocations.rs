//! What the layer asks of the allocator, and that it awaits the inner service in place.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

#[path = "../benches/pinned/fixture.rs"]
mod fixture;
#[path = "../benches/gateway/sizes.rs"]
mod sizes;
#[path = "../benches/instructions/gateway.rs"]
#[allow(dead_code, reason = "a benchmark uses more of it")]
mod stack;

use std::sync::Arc;
use std::task::{Context, Poll};

use allocation_counter::measure;
use fixture::{
    Instant, Layered, SECRET, SERVICE, asked, call, cookies, processes, request, rollouts, token,
    with_layer,
};
use http::{HeaderValue, Request, Response};
use metrics_util::debugging::DebuggingRecorder;
use tower_affinity::core::{self, Clock, Lifetimes, PinCodec};
use tower_affinity::record::Recorder;
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity::{AffinityLayer, AffinityService, Keyring, SystemClock};
use tower_layer::Layer;
use tower_service::Service;

/// The most that a pinned request may cost.
const LIMIT: u64 = 9;

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

/// The most that it may cost with all layers of a gateway and its balancer.
const GATEWAY_LIMIT: u64 = 18;

#[test]
fn a_gateway_costs_a_pinned_request_few_allocations_whatever_its_size() {
    let added = |groups, endpoints| {
        let mut gateway = sizes::gateway(groups, endpoints);
        let cookies = cookies(&sizes::token(&mut gateway));
        // what is made once for each thread and metric is not this request's
        sizes::serve(&mut gateway, stack::asked(Some(&cookies)));
        let (first, second) = (stack::asked(Some(&cookies)), stack::asked(Some(&cookies)));
        let with = measure(|| drop(sizes::serve(&mut gateway, first))).count_total;
        let without = measure(|| drop(sizes::serve(&mut stack::Pod, second))).count_total;
        with - without
    };
    let few = added(2, 3);
    assert!(few > 0, "nothing was counted");
    assert!(
        few <= GATEWAY_LIMIT,
        "{few} allocations for one pinned request"
    );
    assert_eq!(added(50, 200), few, "10,000 endpoints");
}

/// Where peers are forwarded to, what is served here takes no allocation more.
#[test]
fn peers_cost_a_local_request_no_allocation() {
    let (mut serving, mut forwarding) = processes();
    let cookies = cookies(&token(&mut with_layer(rollouts())));
    // what is made once for each thread and metric is not this request's
    drop(call(&mut serving, asked(&cookies)));
    drop(call(&mut forwarding, asked(&cookies)));
    let (first, second) = (asked(&cookies), asked(&cookies));
    let without = measure(|| drop(call(&mut serving, first))).count_total;
    let with = measure(|| drop(call(&mut forwarding, second))).count_total;
    assert!(without > 0, "nothing was counted");
    assert_eq!(with, without, "allocations of a local request");
}

/// The layer around the service, in a scope whose sessions go on.
fn propagating() -> Layered {
    AffinityLayer::builder()
        .keyring(Keyring::parse(&format!("2026-11:{SECRET}")).unwrap())
        .service(SERVICE)
        .rollout(rollouts())
        .scope(Scope::new(PathPattern::all()).propagate(true))
        .recorder(Recorder::new(Arc::new(DebuggingRecorder::new())))
        .build()
        .unwrap()
        .layer(Instant)
}

/// What a request costs, once everything is there that is made once.
fn cost(layered: &mut Layered, cookies: Option<&HeaderValue>) -> u64 {
    drop(call(layered, request(cookies)));
    let request = request(cookies);
    measure(|| drop(call(layered, request))).count_total
}

#[test]
fn a_pin_is_sealed_once_for_the_endpoint_and_the_client() {
    let (mut plain, mut propagating) = (with_layer(rollouts()), propagating());
    let token = token(&mut plain);
    let keyring = core::Keyring::parse(&format!("2026-11:{SECRET}")).unwrap();
    let codec = PinCodec::new(SERVICE.parse().unwrap(), &keyring);
    let now = SystemClock::new().now();
    let opened = codec.open(token.as_bytes(), now, Lifetimes::default());
    let pin = opened.unwrap().pin;
    let sealing = measure(|| drop(codec.seal(&pin))).count_total;

    let cookies = cookies(&token);
    let of_context = cost(&mut propagating, Some(&cookies)) - cost(&mut plain, Some(&cookies));
    let of_new = cost(&mut propagating, None) - cost(&mut plain, None);
    let more = of_new - of_context;
    assert!(
        more < sealing,
        "{more} allocations more for a pin that is new; sealing takes {sealing}"
    );
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
