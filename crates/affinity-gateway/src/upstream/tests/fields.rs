//! Which fields pass, and what is told about the client.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderValue, Request};
use http_body_util::Empty;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tokio::{net::TcpSocket, sync::mpsc};

use crate::{
    serve::ServeOptions,
    upstream::UpstreamOptions,
    wire::{Running, Wire, endpoint, within},
};

/// An endpoint that shows the heads it gets and answers `answer` to each.
async fn showing(answer: &'static str) -> (SocketAddr, mpsc::UnboundedReceiver<Vec<u8>>) {
    let (heads, shown) = mpsc::unbounded_channel();
    let address = endpoint(move |mut wire| {
        let heads = heads.clone();
        async move {
            loop {
                let head = wire.bytes_until(b"\r\n\r\n").await;
                if heads.send(head).is_err() {
                    return;
                }
                wire.send(answer).await;
            }
        }
    })
    .await;
    (address, shown)
}

async fn seen(head: &str, options: UpstreamOptions) -> String {
    let (address, mut shown) = showing(NOTHING).await;
    let gateway = Running::proxy_with(address, options, ServeOptions::new()).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send(head).await;
    client.head().await;
    let head = within("the endpoint's head", shown.recv()).await.unwrap();
    String::from_utf8(head).unwrap()
}

fn lines<'a>(head: &'a str, name: &str) -> Vec<&'a str> {
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| value)
        .collect()
}

const NOTHING: &str = "HTTP/1.1 204 No Content\r\n\r\n";

#[tokio::test]
async fn host_and_target_are_the_clients() {
    let head = seen(
        "GET //a/b?c=%20d HTTP/1.1\r\nHost: Shop.example:8443\r\n\r\n",
        UpstreamOptions::new(),
    )
    .await;
    assert!(head.starts_with("GET //a/b?c=%20d HTTP/1.1\r\n"), "{head}");
    assert_eq!(lines(&head, "host"), ["Shop.example:8443"]);
}

#[tokio::test]
async fn options_for_the_whole_server_passes() {
    let head = seen(
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        UpstreamOptions::new(),
    )
    .await;
    assert!(head.starts_with("OPTIONS * HTTP/1.1\r\n"), "{head}");
}

#[tokio::test]
async fn absolute_form_becomes_a_path() {
    let head = seen(
        "GET http://shop.example/a HTTP/1.1\r\nHost: shop.example\r\n\r\n",
        UpstreamOptions::new(),
    )
    .await;
    assert!(head.starts_with("GET /a HTTP/1.1\r\n"), "{head}");
    assert_eq!(lines(&head, "host"), ["shop.example"]);
}

#[tokio::test]
async fn http_1_0_clients_are_served() {
    let head = seen("GET / HTTP/1.0\r\nHost: a\r\n\r\n", UpstreamOptions::new()).await;
    assert!(head.starts_with("GET / HTTP/1.1\r\n"), "{head}");
}

/// SEC-30.
#[tokio::test]
async fn listed_fields_are_stripped_but_never_ours() {
    let head = seen(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, affinity-group, x-forwarded-for\r\n\
         Connection: cookie, authorization, X-Odd\r\naffinity-group: B\r\nCookie: c=1\r\n\
         Authorization: secret\r\nX-Odd: 1\r\nX-Forwarded-For: 9.9.9.9\r\nX-Even: 2\r\n\
         Keep-Alive: timeout=5\r\nProxy-Connection: x\r\nProxy-Authorization: y\r\nProxy: z\r\n\
         TE: gzip\r\nUpgrade: websocket\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
        UpstreamOptions::new(),
    )
    .await;
    assert_eq!(
        lines(&head, "affinity-group"),
        ["B"],
        "our name cannot be stripped"
    );
    assert_eq!(
        lines(&head, "x-forwarded-for"),
        ["127.0.0.1"],
        "ours is added after"
    );
    assert_eq!(lines(&head, "x-even"), ["2"]);
    for gone in [
        "connection",
        "cookie",
        "authorization",
        "x-odd",
        "keep-alive",
        "proxy-connection",
        "proxy-authorization",
        "proxy",
        "te",
        "upgrade",
        "http2-settings",
    ] {
        assert_eq!(lines(&head, gone), [""; 0], "{gone} reached the endpoint");
    }
}

#[tokio::test]
async fn bytes_that_are_not_text_do_not_hide_a_listed_field() {
    let (address, mut shown) = showing(NOTHING).await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client
        .send(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: \xff, x-odd\r\nX-Odd: 1\r\n\r\n")
        .await;
    client.head().await;
    let head = within("the endpoint's head", shown.recv()).await.unwrap();
    let head = String::from_utf8(head).unwrap();
    assert_eq!(lines(&head, "x-odd"), [""; 0]);
}

/// SEC-31.
#[tokio::test]
async fn nobody_is_believed_by_default() {
    let head = seen(
        "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 9.9.9.9, 8.8.8.8\r\n\
         X-Forwarded-For: garbage\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\n\
         Forwarded: for=9.9.9.9\r\n\r\n",
        UpstreamOptions::new(),
    )
    .await;
    assert_eq!(lines(&head, "x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(lines(&head, "x-forwarded-proto"), ["http"]);
    assert_eq!(lines(&head, "x-forwarded-host"), ["a"]);
    assert_eq!(lines(&head, "forwarded"), [""; 0]);
}

/// However many requests of both the endpoint gets over one connection.
#[tokio::test]
async fn each_request_tells_the_address_of_its_own_client() {
    let (address, mut shown) = showing(NOTHING).await;
    let gateway = Running::proxy(address).await;
    let mut clients = Vec::new();
    for own in ["127.0.0.2", "127.0.0.3"] {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{own}:0").parse().unwrap()).unwrap();
        let stream = socket.connect(gateway.address).await.unwrap();
        clients.push((own, Wire::over(stream)));
    }
    for _ in 0..2 {
        for (own, client) in &mut clients {
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            client.head().await;
            let head = within("the endpoint's head", shown.recv()).await.unwrap();
            let head = String::from_utf8(head).unwrap();
            assert_eq!(lines(&head, "x-forwarded-for"), [*own]);
        }
    }
}

#[tokio::test]
async fn a_trusted_proxy_is_believed_and_added() {
    let head = seen(
        "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 8.8.8.8\r\n\
         X-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.example\r\nForwarded: for=x\r\n\r\n",
        UpstreamOptions::new().trusted_proxies(["127.0.0.0/8".parse().unwrap()]),
    )
    .await;
    assert_eq!(
        lines(&head, "x-forwarded-for"),
        ["9.9.9.9, 8.8.8.8, 127.0.0.1"]
    );
    assert_eq!(lines(&head, "x-forwarded-proto"), ["https"]);
    assert_eq!(lines(&head, "x-forwarded-host"), ["shop.example"]);
    assert_eq!(lines(&head, "forwarded"), ["for=x"]);
}

#[tokio::test]
async fn h2_crumbs_become_one_cookie_and_the_authority_becomes_host() {
    let (address, mut shown) = showing(NOTHING).await;
    let gateway = Running::proxy(address).await;
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http();
    let mut request = Request::new(Empty::<Bytes>::new());
    *request.uri_mut() = format!("http://{}/x", gateway.address).parse().unwrap();
    for crumb in [&b"a=1"[..], b"b=\xff\xfe", b"c=3; d=4"] {
        let crumb = HeaderValue::from_bytes(crumb).unwrap();
        request.headers_mut().append("cookie", crumb);
    }
    let answer = within("the answer", client.request(request)).await.unwrap();
    assert_eq!(answer.status(), 204);
    let head = within("the endpoint's head", shown.recv()).await.unwrap();
    let cookie = b"\r\ncookie: a=1; b=\xff\xfe; c=3; d=4\r\n";
    assert!(
        head.windows(cookie.len()).any(|part| part == cookie),
        "not joined"
    );
    let head = String::from_utf8_lossy(&head);
    assert!(head.starts_with("GET /x HTTP/1.1\r\n"), "{head}");
    assert_eq!(lines(&head, "cookie").len(), 1);
    assert_eq!(lines(&head, "host"), [gateway.address.to_string()]);
}

#[tokio::test]
async fn answers_lose_only_what_belongs_to_the_connection() {
    let (address, _shown) = showing(
        "HTTP/1.1 299 Odd Reason\r\nConnection: keep-alive, x-odd\r\nKeep-Alive: timeout=9\r\n\
         X-Odd: 1\r\nX-Even: 2\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\n!!",
    )
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let head = client.until("!!").await;
    assert!(head.starts_with("HTTP/1.1 299 Odd Reason\r\n"), "{head}");
    assert_eq!(lines(&head, "set-cookie"), ["a=1", "b=2"]);
    assert_eq!(lines(&head, "x-even"), ["2"]);
    for gone in ["x-odd", "keep-alive", "connection"] {
        assert_eq!(lines(&head, gone), [""; 0], "{gone} reached the client");
    }
}
