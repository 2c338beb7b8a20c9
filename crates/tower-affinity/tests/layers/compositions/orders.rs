//! Wrong orders: each is told once, by a warning or an error that has a type.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_affinity::balance::{Endpoint, Error, GroupBalance, Groups, ReplayBody, Unserved};
use tower_affinity::{
    AssignLayer, GroupMetricsLayer, GroupTagLayer, PinLayer, RespondLayer, SignalLayer,
};

use crate::support::{Body, Everything, K1, Site, ask, at_once, codec};

/// What the layers warn of while `stack` answers two requests, one of them with a pin.
fn warned<S, R>(stack: &S, site: &Site) -> Vec<String>
where
    S: Service<Request<Body>, Response = Response<R>, Error = Infallible> + Clone,
{
    let said = Everything::default();
    tracing::subscriber::with_default(said.clone(), || {
        // another test may have met the place that warns just before, when nobody listened
        tracing::callsite::rebuild_interest_cache();
        let cookie = format!("{}={}", crate::support::COOKIE_NAME, site.token("B"));
        for headers in [vec![], vec![("cookie", &*cookie)]] {
            let answer = at_once(stack.clone().oneshot(ask("GET", "/", &headers))).unwrap();
            assert_eq!(answer.status(), 200, "it is served all the same");
        }
    });
    let lines = said.text();
    let lines = lines.lines().filter_map(|line| line.strip_prefix("layer="));
    lines
        .map(|layer| layer.trim_matches('"').to_owned())
        .collect()
}

#[test]
fn each_wrong_order_of_our_layers_is_told_once_and_the_right_one_never() {
    let site = Site::new();
    let app = || site.app.clone();
    let affinity = || site.layer.clone();
    let codec = Arc::new(codec("checkout", K1));
    let assign = || AssignLayer::new(site.rollouts.clone(), codec.clone()).unwrap();

    let right = ServiceBuilder::new()
        .layer(affinity())
        .layer(GroupTagLayer::new())
        .layer(GroupMetricsLayer::new())
        .layer(RespondLayer::new())
        .service(app());
    assert_eq!(warned(&right, &site), [""; 0], "the right order");

    let stack = GroupTagLayer::new().layer(affinity().layer(app()));
    assert_eq!(warned(&stack, &site), ["GroupTagLayer"]);
    let stack = GroupMetricsLayer::new().layer(affinity().layer(app()));
    assert_eq!(warned(&stack, &site), ["GroupMetricsLayer"]);
    let stack = SignalLayer::new().layer(affinity().layer(app()));
    assert_eq!(warned(&stack, &site), ["SignalLayer"]);
    let stack = assign().layer(PinLayer::new(codec.clone()).layer(app()));
    assert_eq!(
        warned(&stack, &site),
        ["PinLayer"],
        "the state side outside of the wire side"
    );
    let stack = affinity().layer(affinity().layer(app()));
    assert_eq!(
        warned(&stack, &site),
        ["PinLayer"],
        "twice around one route"
    );

    // a layer alone, as its documentation offers, is no wrong order
    assert_eq!(warned(&GroupTagLayer::new().layer(app()), &site), [""; 0]);
    assert_eq!(
        warned(&GroupMetricsLayer::new().layer(app()), &site),
        [""; 0]
    );
    assert_eq!(warned(&SignalLayer::new().layer(app()), &site), [""; 0]);
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
