//! What the edge answers, what it passes on, and what it counts.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod overload;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use axum::body::Body;
use http::{Request, Response, StatusCode, Version, request::Builder};
use http_body_util::BodyExt;
use tower::{Layer, ServiceExt, service_fn};
use tower_affinity::{ClientAddr, PeerAddr};

use super::EdgeLayer;
use crate::wire::{Running, Wire, endpoint};

/// The status and the JSON of the answer; `None` where the request was passed on.
async fn answer(request: Builder) -> Option<(StatusCode, serde_json::Value)> {
    let counted = Arc::new(Mutex::new(Vec::new()));
    let counts = Arc::clone(&counted);
    let layer = EdgeLayer::new().recorder(move |status| counts.lock().unwrap().push(status));
    let service = layer.layer(service_fn(|_: Request<Body>| async {
        let mut passed = Response::new(Body::empty());
        *passed.status_mut() = StatusCode::IM_A_TEAPOT;
        Ok::<_, Infallible>(passed)
    }));
    let response = service
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    let status = response.status();
    let counted = counted.lock().unwrap().clone();
    if status == StatusCode::IM_A_TEAPOT {
        assert_eq!(counted, [StatusCode::OK; 0], "counted though passed on");
        return None;
    }
    assert_eq!(counted, [status], "counted once");
    assert_eq!(
        response.headers()["content-type"],
        "application/problem+json"
    );
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(problem["type"], "bad-request");
    assert_eq!(problem["status"], status.as_u16());
    assert!(problem["title"].is_string() && problem["detail"].is_string());
    Some((status, problem))
}

async fn status(request: Builder) -> Option<u16> {
    answer(request).await.map(|(status, _)| status.as_u16())
}

fn get(uri: &str) -> Builder {
    Request::get(uri).header("host", "shop.example")
}

#[tokio::test]
async fn ordinary_requests_pass() {
    for uri in [
        "/",
        "//evil",
        "/a?b",
        "http://shop.example/a",
        "http://SHOP.example:80/",
    ] {
        assert_eq!(status(get(uri)).await, None, "{uri}");
    }
    let star = Request::options("*").header("host", "a");
    assert_eq!(status(star).await, None);
    let h2 = Request::get("http://shop.example/").version(Version::HTTP_2);
    assert_eq!(status(h2).await, None);
}

/// SEC-49.
#[tokio::test]
async fn odd_targets_are_refused() {
    assert_eq!(
        status(get("*")).await,
        Some(400),
        "only OPTIONS asks the whole server"
    );
    assert_eq!(status(get("http://other.example/")).await, Some(400));
    assert_eq!(status(get("http://shop.example:81/")).await, Some(400));
    assert_eq!(status(get("http://user@shop.example/")).await, Some(400));
    assert_eq!(status(get("ftp://shop.example/")).await, Some(400));
    let long = format!("/{}", "a".repeat(8 * 1024));
    assert_eq!(status(get(&long)).await, Some(414));
    assert_eq!(
        status(get(&long[1..].replacen('a', "/", 1))).await,
        None,
        "8 KiB pass"
    );
}

#[tokio::test]
async fn connect_and_trace_are_refused() {
    let connect = Request::connect("shop.example:80").header("host", "shop.example:80");
    assert_eq!(status(connect).await, Some(405));
    assert_eq!(
        status(Request::trace("/").header("host", "a")).await,
        Some(405)
    );
}

#[tokio::test]
async fn exactly_one_host_is_needed() {
    assert_eq!(status(Request::get("/")).await, Some(400));
    assert_eq!(
        status(Request::get("/").header("host", "")).await,
        Some(400)
    );
    assert_eq!(
        status(Request::get("/").header("host", "a b")).await,
        Some(400)
    );
    assert_eq!(
        status(Request::get("/").header("host", "u@a")).await,
        Some(400)
    );
    assert_eq!(
        status(get("/").header("host", "shop.example")).await,
        Some(400)
    );
    let h2 = get("http://other.example/").version(Version::HTTP_2);
    assert_eq!(status(h2).await, Some(400), "the authority is not the host");
}

/// SEC-30.
#[tokio::test]
async fn connection_cannot_name_what_the_endpoint_needs() {
    for name in [
        "host",
        "Content-Length",
        "content-type",
        "transfer-encoding",
        ":path",
    ] {
        let listed = get("/").header("connection", format!("close , {name}"));
        assert_eq!(status(listed).await, Some(400), "{name}");
    }
    let second_line = get("/")
        .header("connection", "close")
        .header("connection", "host");
    assert_eq!(status(second_line).await, Some(400));
    let fine = get("/").header("connection", "close, affinity-group, cookie, hostess");
    assert_eq!(status(fine).await, None);
}

#[tokio::test]
async fn ambiguous_lengths_are_refused() {
    let both = get("/")
        .header("content-length", "1")
        .header("transfer-encoding", "chunked");
    assert_eq!(status(both).await, Some(400));
    let twice = get("/")
        .header("content-length", "1")
        .header("content-length", "1");
    assert_eq!(status(twice).await, Some(400));
}

#[tokio::test]
async fn nothing_of_the_request_is_repeated() {
    let (_, problem) = answer(get("http://other.example/secret")).await.unwrap();
    let text = problem.to_string();
    assert!(
        !text.contains("other") && !text.contains("secret"),
        "{text}"
    );
}

/// SEC-40: hyper would drop the length and serve the request.
#[tokio::test]
async fn length_with_chunks_is_400_and_closes() {
    let gateway = Running::proxy(endpoint(|_| async {}).await).await;
    let mut client = Wire::connect(gateway.address).await;
    client
        .send(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n\
             0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
        )
        .await;
    let answers = client.rest().await;
    assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
    assert!(answers.starts_with("HTTP/1.1 400 "), "{answers}");
    assert!(answers.contains(r#""type":"bad-request""#), "{answers}");
}

#[tokio::test]
async fn differing_lengths_are_400() {
    let gateway = Running::proxy(endpoint(|_| async {}).await).await;
    let mut client = Wire::connect(gateway.address).await;
    client
        .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")
        .await;
    let answers = client.rest().await;
    assert!(answers.starts_with("HTTP/1.1 400 "), "{answers}");
}

#[tokio::test]
async fn client_behind_a_trusted_proxy_is_named() {
    let layer = EdgeLayer::new().trusted_proxies(["10.0.0.0/8".parse().unwrap()]);
    let service = layer.layer(service_fn(|request: Request<Body>| async move {
        let client = request
            .extensions()
            .get()
            .map(|ClientAddr(client)| client.to_string());
        Ok::<_, Infallible>(Response::new(Body::from(client.unwrap_or_default())))
    }));
    for (peer, expected) in [("10.0.0.1:9", "1.2.3.4"), ("9.9.9.9:9", "")] {
        let mut request = get("/")
            .header("x-forwarded-for", "5.5.5.5, 1.2.3.4")
            .body(Body::empty())
            .unwrap();
        request
            .extensions_mut()
            .insert(PeerAddr(peer.parse().unwrap()));
        let answer = service.clone().oneshot(request).await.unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, expected, "behind {peer}");
    }
}
