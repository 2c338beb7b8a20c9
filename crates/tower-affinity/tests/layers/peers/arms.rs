//! The arms of a session on the way to a peer.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Request, Response};
use tower::{Layer, ServiceExt, service_fn};
use tower_affinity::balance::{BalanceBody, Endpoint, Groups, ReplayBody};
use tower_affinity::core::{Experiment, Timestamp, Weight};
use tower_affinity::experiments::Experiments;
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity::{AffinityLayer, Keyring, PeerForwardLayer};
use tower_affinity_testing::{HandClock, START, name, rollout};

use super::mesh::token;
use crate::support::{Body, COOKIE_NAME, K1, ask, at_once};

#[test]
fn a_peer_is_told_the_arms_and_the_pin_as_an_endpoint_of_a_gateway_is() {
    let arms = ["green", "blue"].map(|arm| (arm.parse().unwrap(), Weight::new(1).unwrap()));
    let button = Experiment::new("button".parse().unwrap(), arms).unwrap();
    let affinity = AffinityLayer::builder()
        .keyring(Keyring::parse(K1).unwrap())
        .service("checkout")
        .rollout(rollout(10, &[("A", 1), ("B", 1)]))
        .serving(name("A"))
        .clock(HandClock::at(Timestamp::from_secs(START)))
        .experiments(Experiments::new([button]).unwrap())
        .scope(Scope::new(PathPattern::all()).propagate(true))
        .build()
        .unwrap();
    let peers = Groups::default();
    peers.update(&name("B"), ["127.0.0.1:2".parse().unwrap()]);
    let told = Arc::new(Mutex::new(HeaderMap::new()));
    let connect = {
        let told = told.clone();
        move |_: &Arc<Endpoint>| {
            let told = told.clone();
            service_fn(move |request: Request<ReplayBody<Body>>| {
                *told.lock().unwrap() = request.headers().clone();
                std::future::ready(Ok::<_, Infallible>(Response::new(Body::default())))
            })
        }
    };
    let local = service_fn(|_: Request<Body>| async {
        Ok::<_, Infallible>(Response::new(BalanceBody::<Body>::default()))
    });
    let service = PeerForwardLayer::new(affinity, peers, connect)
        .unwrap()
        .layer(local);
    let cookie = format!("{COOKIE_NAME}={}", token("B", 7));
    let spoofed = [("cookie", &*cookie), ("affinity-arms", "button=spoofed")];
    let answer = at_once(service.oneshot(ask("GET", "/step", &spoofed))).unwrap();
    assert_eq!(answer.status(), 200);
    let told = told.lock().unwrap();
    let arms = told
        .get("affinity-arms")
        .expect("the peer is told its arms");
    assert!(
        ["button=green", "button=blue"].contains(&arms.to_str().unwrap()),
        "{arms:?}"
    );
    let pin = told.get("affinity-pin").expect("a scope that propagates");
    assert!(!pin.is_empty());
    assert_eq!(told["affinity-group"], "B");
}
