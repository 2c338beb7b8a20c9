//! Routes that one group alone may serve.

use std::sync::Arc;

use http::StatusCode;
use metrics_util::debugging::DebuggingRecorder;
use tower::{Layer, ServiceExt};
use tower_affinity::record::Recorder;
use tower_affinity::require::RequireGroupLayer;
use tower_affinity_testing::name;

use crate::support::{COOKIE_NAME, Site, ask, at_once};

#[test]
fn a_request_for_another_group_never_reaches_the_application() {
    let site = Site::new();
    let recorder = DebuggingRecorder::new();
    let counted = recorder.snapshotter();
    let only_b = RequireGroupLayer::new(name("B")).recorder(Recorder::new(Arc::new(recorder)));
    let stack = site.layer.layer(only_b.layer(site.app.clone()));
    let send = |group: &str| {
        let cookie = format!("{COOKIE_NAME}={}", site.token(group));
        at_once(
            stack
                .clone()
                .oneshot(ask("POST", "/", &[("cookie", &cookie)])),
        )
        .unwrap()
    };
    assert_eq!(send("B").status(), StatusCode::OK);
    assert!(site.app.last().is_some());
    let refused = send("A");
    assert_eq!(refused.status(), StatusCode::MISDIRECTED_REQUEST);
    let marked = refused.headers().contains_key("affinity-misdirected");
    assert!(
        !marked,
        "whoever balances would leave an endpoint that is right"
    );
    assert_eq!(
        refused.headers()["content-type"],
        "application/problem+json"
    );
    assert!(
        !refused.headers().contains_key("set-cookie"),
        "the session is where it was"
    );
    assert!(site.app.last().is_none(), "the application was asked");
    let series = counted.snapshot().into_vec();
    let names: Vec<&str> = series.iter().map(|(key, ..)| key.key().name()).collect();
    assert!(names.contains(&"affinity_misdirected_total"), "{names:?}");
}

#[test]
fn without_a_decision_nobody_is_served() {
    let site = Site::new();
    let alone = RequireGroupLayer::new(name("B")).layer(site.app.clone());
    let answer = at_once(alone.oneshot(ask("GET", "/", &[]))).unwrap();
    assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert!(site.app.last().is_none(), "the application was asked");
}
