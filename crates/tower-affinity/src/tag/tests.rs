//! Facts about the names between us and an endpoint.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Request, Response};
use tower::{Layer, ServiceExt, service_fn};
use tower_affinity_core::{Cause, Kind};

use super::GroupTagLayer;
use crate::fixtures::{decided, decision, moved, pinned};

/// What the endpoint gets of a request, and the client of an answer.
async fn exchange(request: Request<()>, answer: HeaderMap) -> (HeaderMap, HeaderMap) {
    let got = Arc::new(Mutex::new(HeaderMap::new()));
    let endpoint = service_fn(|request: Request<()>| {
        *got.lock().unwrap() = request.headers().clone();
        let mut response = Response::new(());
        *response.headers_mut() = answer.clone();
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let response = GroupTagLayer::new().layer(endpoint).oneshot(request).await;
    let response = response.unwrap();
    let got = got.lock().unwrap().clone();
    (got, response.headers().clone())
}

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

#[tokio::test]
async fn the_endpoint_is_told_what_was_decided() {
    let request = decided(moved("a", "b"));
    let (got, _) = exchange(request, HeaderMap::new()).await;
    let session = moved("a", "b").session().unwrap().to_string();
    let mut expected = headers(&[
        ("affinity-group", "b"),
        ("affinity-decision", "moved; cause=aborted"),
        ("affinity-moved-from", "a; at=1800000000; cause=aborted"),
    ]);
    expected.insert("affinity-session", session.parse().unwrap());
    assert_eq!(got, expected);
}

#[tokio::test]
async fn without_a_session_none_is_named() {
    let mut bypassed = decision("a", Kind::Bypassed, Cause::None);
    bypassed.pin = None;
    let (got, _) = exchange(decided(bypassed), HeaderMap::new()).await;
    let expected = headers(&[
        ("affinity-group", "a"),
        ("affinity-decision", "bypassed; cause=none"),
    ]);
    assert_eq!(got, expected);
}

#[tokio::test]
async fn what_a_client_sends_under_our_names_is_removed() {
    let spoofed = headers(&[
        ("affinity-group", "forged"),
        ("affinity-group", "forged again"),
        ("Affinity-Session", "forged"),
        ("affinity_group", "forged"),
        ("affinity_moved-from", "forged"),
        ("affinity-moved_from", "forged"),
        ("affinity-", "forged"),
        ("affinity_", "forged"),
        ("affinity-pin", "forged"),
        ("affinity-override", "forged"),
        ("affinity-of-tomorrow", "forged"),
    ]);
    let kept = headers(&[
        ("affinity", "the client's"),
        ("affinityx-group", "the client's"),
        ("x-affinity-group", "the client's"),
        ("accept", "a"),
        ("accept", "b"),
    ]);
    let mut both = spoofed.clone();
    both.extend(kept.clone());

    let mut request = Request::new(());
    *request.headers_mut() = both.clone();
    let (got, _) = exchange(request, HeaderMap::new()).await;
    assert_eq!(got, kept, "without a decision it only removes");

    let mut request = pinned("a");
    *request.headers_mut() = both;
    let (got, _) = exchange(request, HeaderMap::new()).await;
    let ours: Vec<_> = got
        .iter()
        .filter(|(name, _)| super::is_ours(name))
        .collect();
    assert_eq!(ours.len(), 3, "ours are set once each: {ours:?}");
    assert_eq!(got["affinity-group"], "a");
}

#[tokio::test]
async fn what_an_endpoint_sends_under_our_names_is_removed() {
    let answer = headers(&[
        ("affinity-group", "x"),
        ("affinity-misdirected", "1"),
        ("affinity_session", "end"),
        ("affinity-session", "end"),
        ("affinity-outcome", "success"),
        ("affinity-pin", "planted"),
        ("content-type", "text/plain"),
    ]);
    let (_, got) = exchange(pinned("a"), answer).await;
    let expected = headers(&[
        ("affinity-session", "end"),
        ("affinity-outcome", "success"),
        ("affinity-pin", "planted"),
        ("content-type", "text/plain"),
    ]);
    assert_eq!(got, expected, "only what is read outside stays");
}
