//! Two processes that forward to each other, over real connections.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::{CONNECTION, CONTENT_TYPE, UPGRADE};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::{get, post};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tower_affinity::{Affinity, Groups, PeerForwardLayer, Rollouts};

use super::client::{NEW, OLD, layer, rollouts};
use crate::{ConnectOver, pool, serve};

const LIMIT: Duration = Duration::from_secs(10);

/// What both processes run besides the flow: a stream that never ends, an upgrade, an echo.
fn routes() -> Router {
    Router::new()
        .route(
            "/who",
            get(async |affinity: Affinity| affinity.group().to_owned()),
        )
        .route("/echo", post(async |body: Bytes| body))
        .route("/events", get(events))
        .route("/upgrade", get(upgrade))
}

async fn events() -> Response<Body> {
    let (sender, frames) = tokio::sync::mpsc::channel::<Bytes>(1);
    tokio::spawn(async move {
        // until the reader goes away
        while sender
            .send(Bytes::from_static(b"data: tick\n\n"))
            .await
            .is_ok()
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let frames = stream_of(frames);
    let mut response = Response::new(Body::from_stream(frames));
    let kind = "text/event-stream".parse().unwrap();
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn stream_of(
    frames: tokio::sync::mpsc::Receiver<Bytes>,
) -> impl futures_util::Stream<Item = Result<Bytes, Infallible>> {
    futures_util::stream::unfold(frames, async |mut frames| {
        let frame = frames.recv().await?;
        Some((Ok(frame), frames))
    })
}

async fn upgrade(headers: HeaderMap, mut request: Request) -> Response<Body> {
    assert_eq!(
        headers[UPGRADE], "echo",
        "the question for an upgrade was lost"
    );
    let upgraded = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let stream = TokioIo::new(upgraded.await.unwrap());
        let (mut read, mut write) = tokio::io::split(stream);
        tokio::io::copy(&mut read, &mut write).await.unwrap();
        write.shutdown().await.unwrap();
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, "upgrade".parse().unwrap());
    headers.insert(UPGRADE, "echo".parse().unwrap());
    response
}

/// A process of `commit`, and its list of peers.
async fn process(rollouts: &Rollouts, commit: &str) -> (SocketAddr, Groups) {
    let affinity = layer(rollouts)
        .serving(commit.parse().unwrap())
        .build()
        .unwrap();
    let peers = Groups::default();
    let forwarding = PeerForwardLayer::new(affinity, peers.clone(), ConnectOver::new(pool()));
    let app = routes().layer(forwarding.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, app, std::future::pending()));
    (address, peers)
}

/// The two processes, OLD first, and a pin to NEW.
async fn two() -> ([(SocketAddr, Groups); 2], String) {
    let rollouts = rollouts();
    let [old, new] = [process(&rollouts, OLD).await, process(&rollouts, NEW).await];
    old.1.update(&NEW.parse().unwrap(), [new.0]);
    new.1.update(&OLD.parse().unwrap(), [old.0]);
    let (_, head, _) = ask(new.0, "GET /who", "", "").await;
    let cookie = head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.expect("a session of NEW").split(';').next().unwrap();
    let cookie = format!("cookie: {cookie}\r\n");
    ([old, new], cookie)
}

type Stream = BufReader<TcpStream>;

/// Asks and reads the head of the answer.
async fn ask(to: SocketAddr, line: &str, headers: &str, body: &str) -> (Stream, String, u16) {
    let mut stream = BufReader::new(TcpStream::connect(to).await.unwrap());
    let request = format!(
        "{line} HTTP/1.1\r\nhost: a\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let read = timeout(LIMIT, stream.read_line(&mut head)).await;
        assert!(
            read.expect("an answer").unwrap() > 0,
            "closed after {head:?}"
        );
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (stream, head, status)
}

#[tokio::test]
async fn bodies_pass_both_ways_to_the_process_of_the_session() {
    let ([old, _new], cookie) = two().await;
    let (mut stream, head, status) = ask(old.0, "GET /who", &cookie, "").await;
    assert_eq!(status, 200, "{head}");
    let mut body = [0; NEW.len()];
    stream.read_exact(&mut body).await.unwrap();
    assert_eq!(body, NEW.as_bytes());
    let sent = "x".repeat(100_000);
    let (mut stream, head, status) = ask(old.0, "POST /echo", &cookie, &sent).await;
    assert_eq!(status, 200, "{head}");
    let mut body = vec![0; sent.len()];
    timeout(LIMIT, stream.read_exact(&mut body))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(body, sent.as_bytes());
}

#[tokio::test]
async fn events_arrive_one_by_one_and_their_stream_ends_with_the_client() {
    let ([old, _new], cookie) = two().await;
    let (mut stream, head, status) = ask(old.0, "GET /events", &cookie, "").await;
    assert_eq!(status, 200, "{head}");
    let mut seen = String::new();
    while seen.matches("data: tick").count() < 3 {
        let read = timeout(LIMIT, stream.read_line(&mut seen)).await;
        assert!(
            read.expect("an event").unwrap() > 0,
            "closed after {seen:?}"
        );
    }
    let new = NEW.parse().unwrap();
    assert_eq!(old.1.in_flight(&new), 1);
    drop(stream);
    let ended = async {
        while old.1.in_flight(&new) > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, ended)
        .await
        .expect("the stream outlives its client");
}

#[tokio::test]
async fn an_upgraded_connection_goes_through_the_peer_and_holds_its_place() {
    let ([old, _new], cookie) = two().await;
    let asks = format!("{cookie}connection: Upgrade\r\nupgrade: echo\r\n");
    let (mut stream, head, status) = ask(old.0, "GET /upgrade", &asks, "").await;
    assert_eq!(status, 101, "{head}");
    assert!(head.contains("upgrade: echo"), "{head}");
    let new = NEW.parse().unwrap();
    for word in ["ping", "pong"] {
        stream.write_all(word.as_bytes()).await.unwrap();
        let mut back = [0; 4];
        timeout(LIMIT, stream.read_exact(&mut back))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(back, word.as_bytes());
        assert_eq!(old.1.in_flight(&new), 1, "the tunnel has lost its place");
    }
    drop(stream);
    let ended = async {
        while old.1.in_flight(&new) > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, ended)
        .await
        .expect("the tunnel outlives its client");
}

#[tokio::test]
async fn a_peer_that_is_down_is_answered_503_and_the_pin_is_kept() {
    let ([old, _new], cookie) = two().await;
    // a port that nobody listens at
    let gone = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    old.1.update(&NEW.parse().unwrap(), [gone]);
    let (_, head, status) = ask(old.0, "GET /who", &cookie, "").await;
    assert_eq!(status, 503, "{head}");
    assert!(!head.contains("set-cookie"), "{head}");
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let affinity = layer(&rollouts())
        .serving(OLD.parse().unwrap())
        .build()
        .unwrap();
    let error = crate::forwarding(affinity, Path::new("/nowhere/peers.json")).unwrap_err();
    assert!(error.to_string().contains("/nowhere/peers.json"), "{error}");
}
