//! What is counted: the ways of a request through the layers, and the same without them.

use std::time::Duration;

use http::Response;
use tower_affinity::core::{AbortRequest, AlwaysReady, Change, Clock, Kind, Revision};
use tower_affinity::{Affinity, Rollouts, SystemClock};

use super::fixture::{Instant, call, cookies, request, rollouts, token, with_layer};
use super::gateway::{Pod, asked, gateway, read};

/// How many requests are counted: enough for what happens once in a while to show as its share.
pub(crate) const CALLS: u64 = 1_000;

/// How many requests go before them, for what is made once.
const FIRST: u64 = 100;

/// A way through layers, and the same request without them.
pub(crate) struct Path {
    pub(crate) name: &'static str,
    pub(crate) without: &'static str,
}

const fn path(name: &'static str, without: &'static str) -> Path {
    Path { name, without }
}

pub(crate) const ALL: [Path; 7] = [
    path("affinity/pinned", "service/pinned"),
    path("affinity/new", "service/new"),
    path("affinity/moved", "service/pinned"),
    path("gateway/pinned", "pod/pinned"),
    path("gateway/new", "pod/new"),
    path("gateway/moved", "pod/pinned"),
    path("gateway/many-endpoints", "pod/pinned"),
];

/// Sends the requests of one way: through `affinity` to its `service`, or through the `gateway` to a
/// `pod`; or to one of these alone.
pub(crate) fn run(name: &str) {
    // the same endpoints are drawn in every run
    fastrand::seed(1);
    let (through, kind) = name.split_once('/').unwrap();
    let before = rollouts();
    let line = cookies(&token(&mut with_layer(before.clone())));
    let endpoints = if kind == "many-endpoints" { 5_000 } else { 3 };
    let (cookies, rollouts, kind) = match kind {
        "new" => (None, before, Kind::Assigned),
        "moved" => (Some(&line), aborted(&before), Kind::Moved),
        _ => (Some(&line), before, Kind::Pinned),
    };
    match through {
        "service" => count(|| drop(call(&mut Instant, request(cookies)))),
        "pod" => count(|| read(call(&mut Pod, asked(cookies)))),
        "affinity" => {
            let mut service = with_layer(rollouts);
            check(&call(&mut service, request(cookies)), kind);
            count(|| drop(call(&mut service, request(cookies))));
        }
        "gateway" => {
            let mut gateway = gateway(rollouts, endpoints);
            check(&call(&mut gateway, asked(cookies)), kind);
            count(|| read(call(&mut gateway, asked(cookies))));
        }
        _ => panic!("no way {name}"),
    }
}

fn count(mut send: impl FnMut()) {
    (0..FIRST).for_each(|_| send());
    counted(&mut send);
}

/// The function whose instructions callgrind collects, by its name.
#[inline(never)]
fn counted(send: &mut dyn FnMut()) {
    (0..CALLS).for_each(|_| send());
}

/// The way does what its name says.
fn check<B>(response: &Response<B>, kind: Kind) {
    let affinity = response.extensions().get::<Affinity>().unwrap();
    assert_eq!(affinity.decision().kind, kind);
}

/// The rollout of `rollouts` after `c3d4e5f` was aborted.
fn aborted(rollouts: &Rollouts) -> Rollouts {
    let rollout = rollouts.current();
    let change = Change {
        revision: Revision(rollout.revision().0 + 1),
        now: SystemClock::new().now(),
        max_age: Duration::from_secs(4 * 3600),
    };
    let bad = "c3d4e5f".parse().unwrap();
    let next = rollout.abort(&bad, &AbortRequest::default(), &AlwaysReady, change);
    next.unwrap().into()
}
