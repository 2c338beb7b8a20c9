//! Layers that stand between affinity and the application.

use std::time::Duration;

use http::header::SET_COOKIE;
use http::{Request, Response, StatusCode};
use tower::load_shed::error::Overloaded;
use tower::timeout::error::Elapsed;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
use tower_affinity::{Affinity, RespondLayer};
use tower_http::timeout::TimeoutLayer;

use super::of_tower;
use crate::support::{Body, Site, ask, texts};

async fn mute(_: Request<Body>) -> Result<Response<Body>, std::convert::Infallible> {
    std::future::pending().await
}

#[tokio::test]
async fn an_error_inside_of_affinity_passes_through_as_it_is() {
    let site = Site::new();
    let mut stack = ServiceBuilder::new()
        .layer(site.layer.clone())
        .load_shed()
        .concurrency_limit(1)
        .service(service_fn(mute));
    let mut first =
        tokio_test::task::spawn(stack.ready().await.unwrap().call(ask("GET", "/", &[])));
    assert!(first.poll().is_pending());
    let shed = stack
        .ready()
        .await
        .unwrap()
        .call(ask("GET", "/", &[]))
        .await
        .unwrap_err();
    assert!(shed.is::<Overloaded>(), "{shed}");
}

#[tokio::test]
async fn with_answers_for_errors_a_request_that_is_shed_keeps_its_session_and_gets_no_pin() {
    let site = Site::new();
    let mut stack = ServiceBuilder::new()
        .layer(site.layer.clone())
        .layer(RespondLayer::new().problems(of_tower))
        .load_shed()
        .concurrency_limit(1)
        .service(service_fn(mute));
    let mut first =
        tokio_test::task::spawn(stack.ready().await.unwrap().call(ask("GET", "/", &[])));
    assert!(first.poll().is_pending());
    let answer = stack
        .ready()
        .await
        .unwrap()
        .call(ask("GET", "/", &[]))
        .await
        .unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        !answer.headers().contains_key(SET_COOKIE),
        "no pin on our own errors"
    );
    assert!(
        answer.extensions().get::<Affinity>().is_some(),
        "it was decided"
    );
}

#[tokio::test(start_paused = true)]
async fn a_timeout_inside_of_affinity_is_an_error_or_an_answer() {
    let site = Site::new();
    let second = Duration::from_secs(1);
    let stack = ServiceBuilder::new()
        .layer(site.layer.clone())
        .timeout(second)
        .service(service_fn(mute));
    let failed = stack.oneshot(ask("GET", "/", &[])).await.unwrap_err();
    assert!(failed.is::<Elapsed>(), "{failed}");

    let stack = ServiceBuilder::new()
        .layer(site.layer.clone())
        .layer(RespondLayer::new().problems(of_tower))
        .timeout(second)
        .service(service_fn(mute));
    let answer = stack.oneshot(ask("GET", "/", &[])).await.unwrap();
    assert_eq!(answer.status(), StatusCode::GATEWAY_TIMEOUT);
    assert!(!answer.headers().contains_key(SET_COOKIE));

    // a foreign layer that answers by itself counts as the application: its answer carries the pin
    let stack = ServiceBuilder::new()
        .layer(site.layer.clone())
        .layer(TimeoutLayer::with_status_code(
            StatusCode::REQUEST_TIMEOUT,
            second,
        ))
        .service(service_fn(mute));
    let answer = stack.oneshot(ask("GET", "/", &[])).await.unwrap();
    assert_eq!(answer.status(), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(texts(answer.headers(), "set-cookie").len(), 1);
}
