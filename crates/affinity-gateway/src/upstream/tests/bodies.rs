//! Bodies and trailers: straight through, in both directions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Request};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};

use crate::wire::{Running, Wire, endpoint, within};

const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Each side sends only after it has seen what the other sent before: any buffering would hang.
#[tokio::test]
async fn bodies_stream_both_ways_before_they_end() {
    let address = endpoint(|mut wire| async move {
        wire.head().await;
        wire.until("one").await;
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nuno\r\n")
            .await;
        wire.until("two").await;
        wire.send("3\r\ndos\r\n0\r\n\r\n").await;
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send(CHUNKED).await;
    client.send("3\r\none\r\n").await;
    client.until("uno").await;
    client.send("3\r\ntwo\r\n0\r\n\r\n").await;
    client.until("dos").await;
    client.until("0\r\n\r\n").await;
}

#[tokio::test]
async fn trailers_pass_both_ways_but_never_ours() {
    let address = endpoint(|mut wire| async move {
        let head = wire.head().await;
        assert!(head.contains("\r\nte: trailers\r\n"), "{head}");
        let trailers = wire.until("x-sum: 1\r\n\r\n").await;
        assert!(
            !trailers.contains("affinity"),
            "our name in a trailer: {trailers}"
        );
        wire.send(
            "HTTP/1.1 200 OK\r\nTrailer: affinity-session, x-check\r\nTransfer-Encoding: chunked\r\n\r\n\
             2\r\nok\r\n0\r\naffinity-session: end\r\nX-Check: 2\r\n\r\n",
        )
        .await;
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client
        .send(
            "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: te\r\n\
             Trailer: affinity-group, affinity_group, x-sum\r\nTransfer-Encoding: chunked\r\n\r\n\
             2\r\nhi\r\n0\r\naffinity-group: B\r\naffinity_group: B\r\nX-Sum: 1\r\n\r\n",
        )
        .await;
    client.head().await;
    let trailers = client.until("x-check: 2\r\n\r\n").await;
    assert!(
        !trailers.contains("affinity"),
        "an endpoint's word in a trailer: {trailers}"
    );
}

#[tokio::test]
async fn trailers_pass_between_http_2_and_http_1() {
    let address = endpoint(|mut wire| async move {
        wire.until("x-sum: 1\r\n\r\n").await;
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            .await;
        wire.send("2\r\nok\r\n0\r\nx-check: 2\r\n\r\n").await;
    })
    .await;
    let gateway = Running::proxy(address).await;
    let trailers = HeaderMap::from_iter([("x-sum".parse().unwrap(), "1".parse().unwrap())]);
    let frames = [
        Frame::data(Bytes::from_static(b"hi")),
        Frame::trailers(trailers),
    ];
    let body = StreamBody::new(stream::iter(frames.map(Ok::<_, std::convert::Infallible>)));
    let request = Request::post(format!("http://{}/", gateway.address))
        .header("trailer", "x-sum")
        .body(body)
        .unwrap();
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http();
    let answer = within("the answer", client.request(request)).await.unwrap();
    let body = within("the body", answer.into_body().collect())
        .await
        .unwrap();
    assert_eq!(body.trailers().unwrap()["x-check"], "2");
    assert_eq!(body.to_bytes(), "ok");
}

#[tokio::test]
async fn head_keeps_its_length_and_its_connection() {
    let address = endpoint(|mut wire| async move {
        assert!(wire.head().await.starts_with("HEAD /a "));
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n")
            .await;
        assert!(wire.head().await.starts_with("HEAD /b "));
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            .await;
        wire.head().await;
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast")
            .await;
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let head = client.head().await;
    assert!(head.contains("content-length: 1234\r\n"), "{head}");
    client.send("HEAD /b HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let head = client.head().await;
    assert!(!head.contains("content-length"), "a made-up length: {head}");
    client.send("GET /c HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(
        client.head().await.starts_with("HTTP/1.1 200 "),
        "a body after HEAD"
    );
    client.until("last").await;
}

#[tokio::test]
async fn answers_without_a_body_have_none() {
    let address = endpoint(|mut wire| async move {
        wire.head().await;
        wire.send("HTTP/1.1 204 No Content\r\n\r\n").await;
        wire.head().await;
        wire.send("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n")
            .await;
        wire.head().await;
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast")
            .await;
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    for status in ["204", "304", "200"] {
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let head = client.head().await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        assert!(!head.contains("transfer-encoding"), "{head}");
    }
    client.until("last").await;
}

/// SEC-43.
#[tokio::test]
async fn expectation_is_met_here_and_ends_here() {
    let address = endpoint(|mut wire| async move {
        let head = wire.head().await;
        assert!(!head.contains("expect"), "{head}");
        wire.until("body").await;
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n!!")
            .await;
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client
        .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        .await;
    assert_eq!(client.head().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("body").await;
    assert!(client.until("!!").await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn refused_expectation_asks_for_no_body() {
    let gateway = Running::proxy(endpoint(|_| async {}).await).await;
    let mut client = Wire::connect(gateway.address).await;
    client
        .send("POST / HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        .await;
    let answer = client.rest().await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[tokio::test]
async fn a_get_may_have_a_body() {
    let address = endpoint(|mut wire| async move {
        wire.until("odd\r\n0\r\n\r\n").await;
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n!!")
            .await;
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send(CHUNKED.replace("POST", "GET")).await;
    client.send("3\r\nodd\r\n0\r\n\r\n").await;
    client.until("!!").await;
}

/// SEC-44.
#[tokio::test]
async fn early_answer_reaches_the_client_and_spoils_no_other_request() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connections);
    let address = endpoint(move |mut wire| {
        counter.fetch_add(1, Ordering::SeqCst);
        async move {
            if wire.head().await.starts_with("POST") {
                wire.until("part").await;
                wire.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n!!")
                    .await;
                wire.rest().await;
            } else {
                wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n!!")
                    .await;
            }
        }
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client
        .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\npart")
        .await;
    assert!(client.until("!!").await.starts_with("HTTP/1.1 413 "));
    let mut other = Wire::connect(gateway.address).await;
    other.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(other.until("!!").await.starts_with("HTTP/1.1 200 "));
    assert_eq!(
        connections.load(Ordering::SeqCst),
        2,
        "an unfinished connection was reused"
    );
}
