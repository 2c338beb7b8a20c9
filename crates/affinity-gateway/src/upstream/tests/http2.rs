//! Endpoints that speak HTTP/2.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::{convert::Infallible, future::ready};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, Version};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::{net::TcpListener, sync::mpsc};
use tower::ServiceExt;
use tower_affinity::respond::UpstreamFault;

use super::peers::{Endpoint, builder, client, get, h2c};
use crate::{
    serve::Tunnels,
    upstream::{EndpointProtocol, Upstream, UpstreamOptions},
    wire::{Wire, within},
};

/// A body that is sent frame by frame, as the test says.
fn channel() -> (mpsc::UnboundedSender<Frame<Bytes>>, Body) {
    let (sender, mut frames) = mpsc::unbounded_channel();
    let frames = futures_util::stream::poll_fn(move |cx| frames.poll_recv(cx));
    let frames = futures_util::StreamExt::map(frames, Ok::<_, Infallible>);
    (sender, Body::new(StreamBody::new(frames)))
}

fn trailers(name: &'static str, value: &'static str) -> Frame<Bytes> {
    let mut trailers = HeaderMap::new();
    trailers.insert(name, HeaderValue::from_static(value));
    Frame::trailers(trailers)
}

#[tokio::test]
async fn the_endpoint_reads_the_clients_authority_and_no_field_of_a_connection() {
    let (heads, mut seen) = mpsc::unbounded_channel();
    let endpoint = Endpoint::start(builder(), move |request: Request<_>| {
        heads.send(request.into_parts().0).unwrap();
        ready(Response::new(Body::from("!!")))
    })
    .await;
    let gateway = h2c(endpoint.address).await;
    let mut wire = Wire::connect(gateway.address).await;
    wire.send(
        "GET /a?b HTTP/1.1\r\nHost: Shop.example:8443\r\nConnection: x-hop, te\r\nX-Hop: 1\r\n\
         TE: trailers, gzip\r\nKeep-Alive: 5\r\nCookie: a=1; b=2\r\n\r\n",
    )
    .await;
    assert!(wire.until("!!").await.starts_with("HTTP/1.1 200 "));
    let head = within("the request", seen.recv()).await.unwrap();
    assert_eq!(head.version, Version::HTTP_2);
    assert_eq!(head.uri.to_string(), "http://Shop.example:8443/a?b");
    assert_eq!(head.headers["te"], "trailers");
    assert_eq!(head.headers["cookie"], "a=1; b=2");
    assert_eq!(head.headers["x-forwarded-host"], "Shop.example:8443");
    for name in [
        "host",
        "connection",
        "x-hop",
        "keep-alive",
        "transfer-encoding",
    ] {
        assert!(!head.headers.contains_key(name), "{name} came along");
    }
}

/// A call that streams both ways, as gRPC has it: each message is answered before the next.
#[tokio::test]
async fn calls_stream_both_ways_and_their_status_comes_in_trailers() {
    let endpoint = Endpoint::start(builder(), |request: Request<hyper::body::Incoming>| {
        let (frames, body) = channel();
        tokio::spawn(async move {
            let mut incoming = request.into_body();
            let mut asked = HeaderMap::new();
            while let Some(Ok(frame)) = incoming.frame().await {
                match frame.into_data() {
                    Ok(message) => drop(frames.send(Frame::data(message))),
                    Err(frame) => asked = frame.into_trailers().unwrap(),
                }
            }
            let status = if asked["x-ends"] == "well" { "0" } else { "2" };
            drop(frames.send(trailers("grpc-status", status)));
        });
        let mut response = Response::new(body);
        let kind = HeaderValue::from_static("application/grpc");
        response.headers_mut().insert("content-type", kind);
        ready(response)
    })
    .await;
    let gateway = h2c(endpoint.address).await;
    let mut client = client(&gateway).await;
    let (frames, body) = channel();
    let request = Request::post("http://shop.example/flow.Flow/Talk")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(body)
        .unwrap();
    let answer = within("the head", client.send_request(request))
        .await
        .unwrap();
    assert_eq!(answer.headers()["content-type"], "application/grpc");
    let mut answer = answer.into_body();
    for message in ["one", "two", "three"] {
        frames.send(Frame::data(Bytes::from(message))).unwrap();
        let frame = within(message, answer.frame()).await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), message);
    }
    frames.send(trailers("x-ends", "well")).unwrap();
    drop(frames);
    let frame = within("the status", answer.frame()).await.unwrap().unwrap();
    assert_eq!(frame.into_trailers().unwrap()["grpc-status"], "0");
    assert!(answer.frame().await.is_none());
}

#[tokio::test]
async fn a_call_that_is_over_at_once_has_its_status_in_the_head() {
    let endpoint = Endpoint::start(builder(), |_| {
        let response = Response::builder()
            .header("content-type", "application/grpc")
            .header("grpc-status", "5");
        ready(response.body(Body::empty()).unwrap())
    })
    .await;
    let gateway = h2c(endpoint.address).await;
    let answer = client(&gateway).await.send_request(get("/flow.Flow/None"));
    let answer = within("the answer", answer).await.unwrap();
    assert_eq!(answer.headers()["grpc-status"], "5");
    let body = answer.into_body().collect().await.unwrap();
    assert!(body.trailers().is_none() && body.to_bytes().is_empty());
}

#[tokio::test]
async fn exchanges_share_connections_and_never_wait_for_each_other() {
    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    let mut few = builder();
    few.max_concurrent_streams(2);
    let endpoint = Endpoint::start(few, move |_| {
        let (frames, body) = channel();
        arrived.send(frames).unwrap();
        ready(Response::new(body))
    })
    .await;
    let gateway = h2c(endpoint.address).await;
    let client = client(&gateway).await;
    // the endpoint's limit is known once it has answered
    let mut first = client.clone();
    let first = within("the first", first.send_request(get("/")))
        .await
        .unwrap();
    let mut open = vec![(first, arrivals.recv().await.unwrap())];
    for _ in 0..4 {
        let mut sender = client.clone();
        let answer = within("another", sender.send_request(get("/")))
            .await
            .unwrap();
        open.push((answer, arrivals.recv().await.unwrap()));
    }
    assert_eq!(endpoint.connections(), 3, "two on each but the last");
    open.truncate(1);
    // ended exchanges give their places back
    let (_, frames) = open.pop().unwrap();
    drop(frames);
    crate::wire::eventually("a free place", || gateway.held() == 0).await;
    let mut sender = client.clone();
    within("one more", sender.send_request(get("/")))
        .await
        .unwrap();
    assert_eq!(endpoint.connections(), 3);
}

#[tokio::test]
async fn what_an_endpoint_refuses_or_leaves_behind_was_not_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    match request.uri().path() {
                        "/refused" => respond.send_reset(h2::Reason::REFUSED_STREAM),
                        "/broken" => respond.send_reset(h2::Reason::INTERNAL_ERROR),
                        "/bad" => respond.send_reset(h2::Reason::PROTOCOL_ERROR),
                        _ => {
                            let answer = Response::builder().status(204).body(()).unwrap();
                            respond.send_response(answer, true).unwrap();
                            connection.graceful_shutdown();
                        }
                    }
                }
            });
        }
    });
    let options = UpstreamOptions::new().protocol(EndpointProtocol::H2c);
    let leaf = Upstream::<Body>::new(options, Tunnels::new()).endpoint(address);
    for (path, fault, unsent) in [
        ("/refused", UpstreamFault::Unsent, true),
        ("/broken", UpstreamFault::Closed, false),
        ("/bad", UpstreamFault::Protocol, false),
    ] {
        let error = within(path, leaf.clone().oneshot(get(path))).await;
        let error = error.expect_err(path);
        assert_eq!((error.fault(), error.unsent()), (fault, unsent), "{path}");
    }
    for _ in 0..20 {
        // each answer comes with a GOAWAY: the next request goes over another connection
        let answer = within("an answer", leaf.clone().oneshot(get("/"))).await;
        assert_eq!(answer.expect("no failure").status(), 204);
    }
}

#[tokio::test]
async fn those_who_wait_for_a_connection_share_its_failure() {
    // takes connections and never speaks
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    drop(silent);
    let options = UpstreamOptions::new().protocol(EndpointProtocol::H2c);
    let leaf = Upstream::<Body>::new(options, Tunnels::new()).endpoint(address);
    let all = (0..50).map(|_| leaf.clone().oneshot(get("/")));
    for failed in within("all", futures_util::future::join_all(all)).await {
        assert_eq!(
            failed.expect_err("nobody is there").fault(),
            UpstreamFault::Connect
        );
    }
}

#[tokio::test]
async fn a_client_that_goes_away_resets_the_stream_at_the_endpoint() {
    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    let endpoint = Endpoint::start(builder(), move |_| {
        let (frames, body) = channel();
        frames.send(Frame::data(Bytes::from("first"))).unwrap();
        arrived.send(frames).unwrap();
        ready(Response::new(body))
    })
    .await;
    let gateway = h2c(endpoint.address).await;
    let mut wire = Wire::connect(gateway.address).await;
    wire.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    wire.until("first").await;
    let frames = arrivals.recv().await.unwrap();
    drop(wire);
    within("the endpoint's body to be dropped", frames.closed()).await;
    assert_eq!(endpoint.connections(), 1, "the connection lives on");
}
