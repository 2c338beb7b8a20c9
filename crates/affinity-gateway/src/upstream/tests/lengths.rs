//! A body of a declared length is whole with its end, and not with its length (RFC 9113, section
//! 8.1.1): where more follows, the request was malformed from the start.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use hyper::body::Incoming;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tokio::sync::mpsc;

use crate::wire::{Running, endpoint, within};

type Piece = Result<&'static str, std::io::Error>;

/// Sends what comes as the body of a request that says how long it is.
async fn post(
    gateway: SocketAddr,
    length: usize,
    mut pieces: mpsc::UnboundedReceiver<Piece>,
) -> Result<Response<Incoming>, hyper_util::client::legacy::Error> {
    let frames = stream::poll_fn(move |cx| pieces.poll_recv(cx))
        .map(|piece| piece.map(|piece| Frame::data(Bytes::from_static(piece.as_bytes()))));
    let request = Request::post(format!("http://{gateway}/"))
        .header("content-length", length)
        .body(StreamBody::new(frames))
        .unwrap();
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http();
    client.request(request).await
}

/// What an endpoint has of such a request that breaks off after `pieces`.
async fn seen_of_broken(length: usize, pieces: &[&'static str]) -> String {
    let (seen, mut heard) = mpsc::unbounded_channel();
    let address = endpoint(move |mut wire| {
        let seen = seen.clone();
        async move {
            let _: Result<(), _> = seen.send(wire.rest().await);
        }
    })
    .await;
    let gateway = Running::proxy(address).await;
    let (sender, receiver) = mpsc::unbounded_channel();
    let asked = tokio::spawn(post(gateway.address, length, receiver));
    // long enough for each part to arrive by itself
    let alone = || tokio::time::sleep(Duration::from_millis(50));
    alone().await;
    for piece in pieces {
        sender.send(Ok(piece)).unwrap();
        alone().await;
    }
    sender.send(Err(std::io::ErrorKind::Other.into())).unwrap();
    within("the end of the request", asked)
        .await
        .unwrap()
        .unwrap_err();
    drop(gateway);
    // an endpoint that was never asked says nothing
    let heard = tokio::time::timeout(Duration::from_millis(200), heard.recv());
    heard.await.ok().flatten().unwrap_or_default()
}

#[tokio::test]
async fn what_breaks_off_behind_its_length_never_reaches_an_endpoint_whole() {
    let seen = seen_of_broken(4, &["bo", "dy"]).await;
    assert!(
        !seen.ends_with("body"),
        "the endpoint has a whole request: {seen}"
    );
    assert!(seen.ends_with("bo"), "what can be sent is sent: {seen}");
}

#[tokio::test]
async fn what_breaks_off_with_a_length_of_0_never_reaches_an_endpoint() {
    assert_eq!(seen_of_broken(0, &[]).await, "");
}

#[tokio::test]
async fn what_ends_behind_its_length_arrives_whole() {
    for pieces in [&[][..], &["body"], &["bo", "dy"], &["body", ""]] {
        let whole: String = pieces.concat();
        let expected = whole.clone();
        let address = endpoint(move |mut wire| {
            let expected = expected.clone();
            async move {
                let head = wire.head().await;
                let length = format!("content-length: {}\r\n", expected.len());
                assert!(head.contains(&length), "{head}");
                if !expected.is_empty() {
                    wire.until(&expected).await;
                }
                wire.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                    .await;
            }
        })
        .await;
        let gateway = Running::proxy(address).await;
        let (sender, receiver) = mpsc::unbounded_channel();
        let asked = tokio::spawn(post(gateway.address, whole.len(), receiver));
        for piece in pieces {
            sender.send(Ok(piece)).unwrap();
            tokio::task::yield_now().await;
        }
        drop(sender);
        let answer = within("the answer", asked).await.unwrap();
        assert_eq!(answer.unwrap().status(), 200, "{pieces:?}");
    }
}
