//! HTTP/2: one stream's trouble is not another's.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::convert::Infallible;

use axum::body::Body;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::{body::Incoming, client::conn::http2::SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tower::service_fn;

use super::{Gate, gated};
use crate::{
    serve::{ServeOptions, Tunnels},
    wire::{Running, within},
};

/// One connection, so that all requests are streams of it.
async fn connection(running: &Running) -> SendRequest<Body> {
    let stream = TcpStream::connect(running.address).await.unwrap();
    let io = TokioIo::new(stream);
    let (sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), io)
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

fn get(path: &str) -> Request<Body> {
    Request::get(format!("http://a{path}"))
        .body(Body::empty())
        .unwrap()
}

async fn served(client: &mut SendRequest<Body>) -> bool {
    within("room for a stream", client.ready())
        .await
        .expect("the connection is over");
    let answer = within("the answer", client.send_request(get("/")))
        .await
        .unwrap();
    answer.into_body().collect().await.unwrap().to_bytes() == "served!"
}

fn crumbs(count: usize) -> Request<Body> {
    let mut request = get("/");
    for _ in 0..count {
        // Sent as one byte each, once the first has been indexed.
        request
            .headers_mut()
            .append("cookie", "a=1".parse().unwrap());
    }
    request
}

/// SEC-27.
#[tokio::test]
async fn too_large_a_header_list_ends_only_its_stream() {
    let running = gated(&Gate::open(), ServeOptions::new()).await;
    let mut client = connection(&running).await;
    let answer = within("the answer", client.send_request(crumbs(500)))
        .await
        .unwrap();
    assert_eq!(answer.status(), 431);
    assert!(served(&mut client).await, "another stream was harmed");
}

/// SEC-27: a list that goes on over many frames is a flood, and costs the client its connection.
#[tokio::test]
async fn endless_header_list_ends_only_its_connection() {
    let running = gated(&Gate::open(), ServeOptions::new()).await;
    let mut other = connection(&running).await;
    let mut flood = connection(&running).await;
    let answer = within("the answer", flood.send_request(crumbs(20_000))).await;
    assert!(answer.is_err(), "served");
    assert!(served(&mut other).await, "another client was harmed");
}

#[tokio::test]
async fn panic_ends_only_its_stream() {
    let service = service_fn(|request: Request<Incoming>| async move {
        assert!(request.uri().path() != "/panic", "on purpose");
        Ok::<_, Infallible>(Response::new(Body::from("served!")))
    });
    let running = Running::start(service, ServeOptions::new(), Tunnels::new()).await;
    let mut client = connection(&running).await;
    assert!(
        within("the answer", client.send_request(get("/panic")))
            .await
            .is_err()
    );
    assert!(served(&mut client).await, "another stream was harmed");
}

#[tokio::test]
async fn graceful_end_finishes_open_streams() {
    let gate = Gate::closed();
    let running = gated(&gate, ServeOptions::new()).await;
    let mut client = connection(&running).await;
    let answer = tokio::spawn(client.send_request(get("/")));
    gate.arrival().await;
    running.stop();
    gate.allowed.add_permits(1);
    let answer = within("the answer", answer).await.unwrap().unwrap();
    assert_eq!(
        answer.into_body().collect().await.unwrap().to_bytes(),
        "served!"
    );
    assert!(running.ended().await.is_clean());
}
