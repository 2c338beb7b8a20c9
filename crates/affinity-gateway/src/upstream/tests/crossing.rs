//! WebSockets between versions of HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::{future::ready, net::SocketAddr, time::Duration};

use axum::body::Body;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::{body::Incoming, ext::Protocol};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::peers::{Endpoint, builder, client, h2c};
use crate::{
    serve::{Limits, LiveLimits, ServeOptions},
    upstream::{UpstreamOptions, switch::accept_of},
    wire::{Running, Wire, endpoint, eventually, within},
};

fn connect(protocol: &'static str) -> Request<Body> {
    Request::builder()
        .method(Method::CONNECT)
        .uri("http://shop.example/ws")
        .header("sec-websocket-version", "13")
        .extension(Protocol::from_static(protocol))
        .body(Body::empty())
        .unwrap()
}

/// Over HTTP/1.1: answers an upgrade as `answer` makes of the right value, then echoes words.
async fn http1(answer: impl Fn(String) -> String + Clone + Send + Sync + 'static) -> SocketAddr {
    endpoint(move |mut wire| {
        let answer = answer.clone();
        async move {
            let head = wire.head().await;
            assert!(head.starts_with("GET /ws HTTP/1.1\r\n"), "{head}");
            for line in [
                "upgrade: websocket",
                "connection: upgrade",
                "host: shop.example",
                "sec-websocket-version: 13",
            ] {
                assert!(
                    head.contains(&format!("\r\n{line}\r\n")),
                    "no {line}: {head}"
                );
            }
            let key = head
                .lines()
                .find_map(|l| l.strip_prefix("sec-websocket-key: "));
            let accept = accept_of(key.expect("a key").as_bytes()).unwrap();
            wire.send(answer(accept.to_str().unwrap().to_owned())).await;
            while let Some(word) = wire.word().await {
                wire.send(word).await;
            }
        }
    })
    .await
}

fn switching(accept: &str) -> String {
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    )
}

/// Over HTTP/2: takes a WebSocket and echoes.
async fn http2() -> Endpoint {
    let mut extended = builder();
    extended.enable_connect_protocol();
    Endpoint::start(extended, |mut request: Request<Incoming>| {
        assert_eq!(request.method(), Method::CONNECT);
        let protocol = request.extensions().get::<Protocol>().unwrap();
        assert_eq!(protocol.as_str(), "websocket");
        assert_eq!(request.uri().to_string(), "http://shop.example/ws");
        assert!(!request.headers().contains_key("sec-websocket-key"));
        tokio::spawn(async move {
            let io = hyper::upgrade::on(&mut request).await.unwrap();
            let (mut read, mut write) = tokio::io::split(TokioIo::new(io));
            tokio::io::copy(&mut read, &mut write).await.unwrap();
            write.shutdown().await.unwrap();
        });
        ready(Response::new(Body::empty()))
    })
    .await
}

async fn echoes_over_http2(gateway: &Running) {
    let mut client = client(gateway).await;
    let answer = within("the answer", client.send_request(connect("websocket")));
    let mut answer = answer.await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    for name in ["sec-websocket-accept", "upgrade", "connection"] {
        assert!(!answer.headers().contains_key(name), "{name} came along");
    }
    let io = within("the tunnel", hyper::upgrade::on(&mut answer))
        .await
        .unwrap();
    let mut io = TokioIo::new(io);
    for word in ["one.", "two."] {
        io.write_all(word.as_bytes()).await.unwrap();
        let mut echo = [0; 4];
        within("an echo", io.read_exact(&mut echo)).await.unwrap();
        assert_eq!(&echo, word.as_bytes());
        assert_eq!((gateway.held(), gateway.tunnels.len()), (1, 1));
    }
    drop(io);
    drop(client);
    eventually("the tunnel to end", || gateway.tunnels.is_empty()).await;
    eventually("the lease to be released", || gateway.held() == 0).await;
}

#[tokio::test]
async fn a_websocket_over_http2_reaches_an_http1_endpoint() {
    let gateway = Running::proxy(http1(|accept| switching(&accept)).await).await;
    echoes_over_http2(&gateway).await;
}

#[tokio::test]
async fn a_websocket_over_http2_reaches_an_http2_endpoint() {
    let endpoint = http2().await;
    let gateway = h2c(endpoint.address).await;
    echoes_over_http2(&gateway).await;
}

#[tokio::test]
async fn a_websocket_over_http1_reaches_an_http2_endpoint() {
    let endpoint = http2().await;
    let gateway = h2c(endpoint.address).await;
    let mut client = Wire::connect(gateway.address).await;
    client
        .send(
            "GET /ws HTTP/1.1\r\nHost: shop.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        )
        .await;
    let head = client.head().await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    for line in [
        "upgrade: websocket",
        "connection: upgrade",
        "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
    ] {
        assert!(
            head.contains(&format!("\r\n{line}\r\n")),
            "no {line}: {head}"
        );
    }
    client.send("word.").await;
    assert_eq!(client.until(".").await, "word.");
    assert_eq!(gateway.tunnels.len(), 1);
    drop(client);
    eventually("the tunnel to end", || gateway.tunnels.is_empty()).await;
}

/// SEC-41: what is no agreement never becomes a tunnel.
#[tokio::test]
async fn an_endpoint_that_does_not_prove_the_switch_opens_no_tunnel() {
    for (what, answer, status) in [
        ("another accept", switching("bm90IHRoZSByaWdodCBvbmU="), 502),
        (
            "a success that switches nothing",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned(),
            502,
        ),
        (
            "a refusal",
            "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno".to_owned(),
            403,
        ),
    ] {
        let gateway = Running::proxy(http1(move |_| answer.clone()).await).await;
        let mut client = client(&gateway).await;
        let answer = within(what, client.send_request(connect("websocket")));
        let answer = answer.await.unwrap();
        assert_eq!(answer.status(), status, "{what}");
        answer.into_body().collect().await.unwrap();
        assert!(gateway.tunnels.is_empty(), "{what} opened a tunnel");
        eventually("the lease to be released", || gateway.held() == 0).await;
    }
}

#[tokio::test]
async fn an_http2_endpoint_without_extended_connect_is_asked_for_none() {
    let endpoint = Endpoint::start(builder(), |_: Request<Incoming>| {
        ready(Response::new(Body::empty()))
    })
    .await;
    let gateway = h2c(endpoint.address).await;
    let mut client = client(&gateway).await;
    let answer = within("the answer", client.send_request(connect("websocket")));
    assert_eq!(answer.await.unwrap().status(), StatusCode::BAD_GATEWAY);
    assert!(gateway.tunnels.is_empty());
}

/// What an endpoint has to say is held for a client only so long.
#[tokio::test]
async fn a_client_that_takes_nothing_of_its_websocket_is_left() {
    let flood = endpoint(|mut wire| async move {
        let head = wire.head().await;
        let mut lines = head.lines();
        let key = lines.find_map(|line| line.strip_prefix("sec-websocket-key: "));
        let accept = accept_of(key.expect("a key").as_bytes()).unwrap();
        wire.send(switching(accept.to_str().unwrap())).await;
        while wire.try_send([0; 65_536]).await {}
    })
    .await;
    let limits = LiveLimits::new(Limits {
        body_timeout: Duration::from_millis(200),
        ..Limits::default()
    });
    let options = ServeOptions::new().limits(limits);
    let gateway = Running::proxy_with(flood, UpstreamOptions::new(), options).await;

    let mut http1 = Wire::connect(gateway.address).await;
    http1
        .send(
            "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        )
        .await;
    http1.head().await;
    eventually("HTTP/1.1 to be left", || gateway.tunnels.is_empty()).await;

    let mut http2 = client(&gateway).await;
    let answer = within("the answer", http2.send_request(connect("websocket")));
    let io = within("the tunnel", hyper::upgrade::on(answer.await.unwrap())).await;
    eventually("HTTP/2 to be left", || gateway.tunnels.is_empty()).await;
    eventually("the leases to be released", || gateway.held() == 0).await;
    drop((http1, io));
}

/// Any client can ask for a WebSocket anywhere: the endpoint that has none is not to be ejected.
#[tokio::test]
async fn an_endpoint_without_websockets_is_not_at_fault() {
    let page = |_| "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned();
    let plain = Running::proxy(http1(page).await).await;
    let endpoint = Endpoint::start(builder(), |_: Request<Incoming>| {
        ready(Response::new(Body::empty()))
    })
    .await;
    for (what, gateway) in [("a page", plain), ("HTTP/2", h2c(endpoint.address).await)] {
        let mut client = client(&gateway).await;
        let answer = within(what, client.send_request(connect("websocket")));
        let body = answer.await.unwrap().into_body().collect().await.unwrap();
        assert_eq!(body.to_bytes(), "Declined", "{what}");
    }
}

#[tokio::test]
async fn other_connects_reach_no_endpoint() {
    let gateway = Running::proxy(endpoint(|_| async { panic!("reached") }).await).await;
    let mut http2 = client(&gateway).await;
    let unknown = within("501", http2.send_request(connect("connect-udp")));
    assert_eq!(unknown.await.unwrap().status(), StatusCode::NOT_IMPLEMENTED);
    let plain = Request::builder()
        .method(Method::CONNECT)
        .uri("shop.example:443");
    let plain = plain.body(Body::empty()).unwrap();
    let refused = within("405", http2.send_request(plain)).await.unwrap();
    assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
}
