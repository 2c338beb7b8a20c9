//! Wrong orders: each is told once, by a warning or an error that has a type.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_affinity::balance::{Endpoint, Error, GroupBalance, Groups, ReplayBody, Unserved};
use tower_affinity::{
    AffinityLayer, AssignLayer, GroupMetricsLayer, GroupTagLayer, Keyring, PinLayer, RespondLayer,
    SignalLayer,
};

use crate::support::{Body, K1, Site, ask, at_once, codec, heard};

/// What the layers of a stack warn of while it answers three requests, two of them with a pin.
fn warned<S, R>(site: &Site, stack: impl Fn() -> S) -> Vec<String>
where
    S: Service<Request<Body>, Response = Response<R>, Error = Infallible> + Clone,
{
    let cookie = format!("{}={}", crate::support::COOKIE_NAME, site.token("B"));
    let ((), lines) = heard(|_| {
        let stack = stack();
        for headers in [
            vec![],
            vec![("cookie", &*cookie)],
            vec![("cookie", &*cookie)],
        ] {
            let answer = at_once(stack.clone().oneshot(ask("GET", "/", &headers))).unwrap();
            assert_eq!(answer.status(), 200, "it is served all the same");
        }
    });
    let lines = lines.lines().filter_map(|line| line.strip_prefix("layer="));
    lines
        .map(|layer| layer.trim_matches('"').to_owned())
        .collect()
}

#[test]
fn each_wrong_order_of_our_layers_is_told_once_and_the_right_one_never() {
    let site = Site::new();
    let app = || site.app.clone();
    let keys = Arc::new(codec("checkout", K1));
    let pin = || PinLayer::new(keys.clone());
    let assign = || AssignLayer::new(site.rollouts.clone(), keys.clone()).unwrap();
    let affinity = || {
        let builder = AffinityLayer::builder().keyring(Keyring::parse(K1).unwrap());
        let builder = builder.service("checkout").rollout(site.rollouts.clone());
        builder.clock(site.clock.clone()).build().unwrap()
    };

    let right = || {
        ServiceBuilder::new()
            .layer(affinity())
            .layer(GroupTagLayer::new())
            .layer(GroupMetricsLayer::new())
            .layer(RespondLayer::new())
            .service(app())
    };
    assert_eq!(warned(&site, right), [""; 0], "the right order");

    let outside = warned(&site, || {
        GroupTagLayer::new().layer(affinity().layer(app()))
    });
    assert_eq!(outside, ["GroupTagLayer"]);
    let outside = warned(&site, || {
        GroupMetricsLayer::new().layer(affinity().layer(app()))
    });
    assert_eq!(outside, ["GroupMetricsLayer"]);
    let outside = warned(&site, || SignalLayer::new().layer(affinity().layer(app())));
    assert_eq!(outside, ["SignalLayer"]);
    let outside = warned(&site, || assign().layer(pin().layer(app())));
    assert_eq!(
        outside,
        ["PinLayer"],
        "the state side outside of the wire side"
    );
    let twice = warned(&site, || affinity().layer(affinity().layer(app())));
    assert_eq!(twice, ["PinLayer"], "twice around one route");

    // a layer alone, as its documentation offers, is no wrong order
    assert_eq!(warned(&site, || GroupTagLayer::new().layer(app())), [""; 0]);
    assert_eq!(
        warned(&site, || GroupMetricsLayer::new().layer(app())),
        [""; 0]
    );
    assert_eq!(warned(&site, || SignalLayer::new().layer(app())), [""; 0]);
}

#[test]
fn a_balance_without_a_decision_is_an_error_with_a_type() {
    let connect = |_: &Arc<Endpoint>| {
        service_fn(|_: Request<ReplayBody<Body>>| async {
            Ok::<_, Infallible>(Response::new(Body::default()))
        })
    };
    let balance = GroupBalance::new(Groups::default(), connect);
    let failed = at_once(balance.clone().oneshot(ask("GET", "/", &[])));
    assert!(matches!(failed, Err(Error::Unserved(Unserved::NoDecision))));
    let answer = at_once(
        RespondLayer::new()
            .layer(balance)
            .oneshot(ask("GET", "/", &[])),
    );
    assert_eq!(answer.unwrap().status(), 500);
}
