//! The limit on requests in flight over all groups.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::{convert::Infallible, sync::Arc};

use axum::body::Body;
use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt;
use tower::{Layer, ServiceExt, service_fn};

use super::{EdgeLayer, get};
use crate::edge::Requests;

/// A layer for two requests at a time, its count, and how many were refused.
fn two_at_a_time() -> (EdgeLayer, Requests, Arc<AtomicUsize>) {
    let refused = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&refused);
    let requests = Requests::new(move || {
        told.fetch_add(1, Ordering::Relaxed);
    });
    let layer = EdgeLayer::new().max_requests(2).requests(requests.clone());
    (layer, requests, refused)
}

#[tokio::test]
async fn requests_beyond_the_limit_are_told_to_come_back() {
    let (layer, requests, refused) = two_at_a_time();
    let service = layer.layer(service_fn(|_: Request<Body>| async {
        Ok::<_, Infallible>(Response::new(Body::from("served")))
    }));
    let ask = || {
        service
            .clone()
            .oneshot(get("/").body(Body::empty()).unwrap())
    };
    let (one, _two) = (ask().await.unwrap(), ask().await.unwrap());
    assert_eq!(requests.open(), 2, "in flight until the answer is read");
    let mut waits = std::collections::BTreeSet::new();
    for _ in 0..64 {
        let three = ask().await.unwrap();
        assert_eq!(three.status(), 503);
        waits.insert(three.headers()["retry-after"].to_str().unwrap().to_owned());
        assert_eq!(three.headers()["cache-control"], "no-store");
        let body = three.into_body().collect().await.unwrap().to_bytes();
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem["type"], "overloaded");
    }
    assert_eq!(waits.len(), 3, "all come back together: {waits:?}");
    assert_eq!(refused.load(Ordering::Relaxed), 64, "each is counted");
    assert_eq!(requests.open(), 2, "what was refused is not in flight");
    let body = one.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "served");
    assert_eq!(requests.open(), 1, "the place of a read answer is free");
    assert_eq!(ask().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_client_that_leaves_frees_its_place() {
    let (layer, requests, _) = two_at_a_time();
    let service = layer.layer(service_fn(|_: Request<Body>| {
        std::future::pending::<Result<Response<Body>, Infallible>>()
    }));
    let mut waits = tokio_test::task::spawn(service.oneshot(get("/").body(Body::empty()).unwrap()));
    tokio_test::assert_pending!(waits.poll());
    assert_eq!(requests.open(), 1);
    drop(waits);
    assert_eq!(requests.open(), 0, "a request that was given up is counted");
}

#[tokio::test]
async fn a_new_configuration_goes_on_with_the_count() {
    let (layer, requests, _) = two_at_a_time();
    let answer = |_: Request<Body>| async { Ok::<_, Infallible>(Response::new(Body::empty())) };
    let before = layer.layer(service_fn(answer));
    let after = EdgeLayer::new()
        .max_requests(1)
        .requests(requests.clone())
        .layer(service_fn(answer));
    let ask = || get("/").body(Body::empty()).unwrap();
    let open = before.oneshot(ask()).await.unwrap();
    assert_eq!(after.clone().oneshot(ask()).await.unwrap().status(), 503);
    drop(open);
    assert_eq!(after.oneshot(ask()).await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_grpc_client_is_told_in_its_words() {
    let layer = EdgeLayer::new().max_requests(0);
    let service = layer.layer(service_fn(|_: Request<Body>| async {
        Ok::<_, Infallible>(Response::new(Body::empty()))
    }));
    let request = get("/").header("content-type", "application/grpc");
    let answer = service.oneshot(request.body(Body::empty()).unwrap());
    let headers: HeaderMap = answer.await.unwrap().headers().clone();
    assert_eq!(headers["grpc-status"], "14", "UNAVAILABLE: {headers:?}");
}
