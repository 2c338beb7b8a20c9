//! What is read of bodies that are dropped, with a clock that stands still.
#![allow(clippy::unwrap_used)]

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Frame};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tower::{Layer, Service, service_fn};

use super::{DiscardBody, DiscardLayer, DiscardLimits};

const TIME: Duration = Duration::from_secs(1);

/// A client's end of a body.
struct Client {
    pieces: mpsc::UnboundedSender<&'static str>,
    read: Arc<AtomicUsize>,
}

/// A body that comes piece by piece.
#[derive(Debug)]
struct Pieces {
    pieces: mpsc::UnboundedReceiver<&'static str>,
    read: Arc<AtomicUsize>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = ready!(self.pieces.poll_recv(cx));
        let length = piece.map_or(0, str::len);
        self.read.fetch_add(length, Ordering::Relaxed);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece.into()))))
    }
}

impl Client {
    /// How long the other end is held.
    async fn held(&self) -> Duration {
        let begun = Instant::now();
        self.pieces.closed().await;
        begun.elapsed()
    }

    fn send(&self, piece: &'static str) -> bool {
        self.pieces.send(piece).is_ok()
    }

    /// How many bytes were read.
    fn read(&self) -> usize {
        self.read.load(Ordering::Relaxed)
    }
}

fn body() -> (Client, Pieces) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let read = Arc::<AtomicUsize>::default();
    let client = Client {
        pieces: sender,
        read: Arc::clone(&read),
    };
    let pieces = Pieces {
        pieces: receiver,
        read,
    };
    (client, pieces)
}

/// A service of whose bodies ten bytes are discarded, and how often there was more.
fn layer() -> (DiscardLayer, Arc<AtomicUsize>) {
    let more = Arc::new(AtomicUsize::new(0));
    let told = Arc::clone(&more);
    let limits = DiscardLimits {
        bytes: 10,
        time: TIME,
        told: Arc::new(move || {
            told.fetch_add(1, Ordering::Relaxed);
        }),
    };
    (DiscardLayer::new(limits), more)
}

/// Sends a request to a service that refuses it without a look; how often there was more.
async fn refused(request: Request<Pieces>) -> Arc<AtomicUsize> {
    let (layer, more) = layer();
    let mut service = layer.layer(service_fn(|request: Request<DiscardBody<Pieces>>| {
        drop(request);
        std::future::ready(Ok::<_, Infallible>(StatusCode::CONFLICT))
    }));
    let answer = service.call(request).await.unwrap();
    assert_eq!(answer, StatusCode::CONFLICT);
    more
}

#[tokio::test(start_paused = true)]
async fn a_body_that_ends_in_time_is_read_to_its_end() {
    let (client, body) = body();
    let more = refused(Request::new(body)).await;
    tokio::time::sleep(TIME / 2).await;
    assert!(client.send("01234"), "the body is not read");
    assert!(client.send("56789"), "the body is not read");
    drop(client);
    tokio::time::sleep(TIME).await;
    assert_eq!(more.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_has_come_already_needs_no_task() {
    let (client, body) = body();
    client.send("0123456789");
    drop(client);
    let before = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    refused(Request::new(body)).await;
    let after = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    assert_eq!(after, before);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_end_is_held_no_longer_than_the_time() {
    let (client, body) = body();
    let more = refused(Request::new(body)).await;
    assert_eq!(client.held().await, TIME);
    assert_eq!(more.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn pieces_do_not_make_the_time_longer() {
    let (client, body) = body();
    let more = refused(Request::new(body)).await;
    let begun = Instant::now();
    while client.send("") {
        tokio::time::sleep(TIME / 5).await;
    }
    assert!(begun.elapsed() <= TIME * 6 / 5, "{:?}", begun.elapsed());
    assert_eq!(more.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn no_more_bytes_are_read_than_the_limit() {
    for pieces in [["0123456789", "a"], ["01234", "56789a"]] {
        let (client, body) = body();
        let more = refused(Request::new(body)).await;
        for piece in pieces {
            client.send(piece);
        }
        client.send("b");
        assert_eq!(client.held().await, TIME);
        // what shows that there was more, and no more
        assert_eq!(client.read(), 11, "{pieces:?}");
        assert_eq!(more.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn empty_pieces_are_read_for_a_while_only() {
    let (client, body) = body();
    for _ in 0..10 {
        client.send("");
    }
    client.send("a");
    client.send("b");
    client.send("c");
    let more = refused(Request::new(body)).await;
    assert_eq!(client.held().await, TIME);
    assert_eq!(client.read(), 2, "one at the drop, one in the task");
    assert_eq!(more.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_to_be_asked_is_not() {
    let (client, body) = body();
    let request = Request::post("/").header("expect", "100-continue");
    let more = refused(request.body(body).unwrap()).await;
    assert_eq!(client.held().await, Duration::ZERO);
    assert_eq!(more.load(Ordering::Relaxed), 0);
    // HTTP/2 has no such question
    let (client, body) = self::body();
    let request = Request::post("/").header("expect", "100-continue");
    let request = request.version(Version::HTTP_2);
    refused(request.body(body).unwrap()).await;
    assert_eq!(client.held().await, TIME);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_was_asked_is_read_on() {
    let (client, body) = body();
    let (layer, _more) = layer();
    let mut service = layer.layer(service_fn(|request: Request<DiscardBody<Pieces>>| async {
        let first = request.into_body().frame().await;
        Ok::<_, Infallible>(Response::new(first.is_some()))
    }));
    client.send("0");
    let request = Request::post("/").header("expect", "100-continue");
    let answer = service.call(request.body(body).unwrap()).await.unwrap();
    assert!(answer.into_body());
    assert_eq!(client.held().await, TIME);
}

#[tokio::test(start_paused = true)]
async fn what_was_read_to_its_end_is_not_read_again() {
    let (client, body) = body();
    let (layer, more) = layer();
    let mut service = layer.layer(service_fn(|request: Request<DiscardBody<Pieces>>| async {
        let whole = request.into_body().collect().await.unwrap().to_bytes();
        Ok::<_, Infallible>(Response::new(whole))
    }));
    client.send("more than ten bytes");
    drop(client);
    let answer = service.call(Request::new(body)).await.unwrap();
    assert_eq!(answer.into_body(), "more than ten bytes");
    assert_eq!(more.load(Ordering::Relaxed), 0);
}

#[test]
fn a_body_without_content_needs_nothing() {
    let (layer, more) = layer();
    // no runtime is here that a task could run on
    let mut service = layer.layer(service_fn(|request: Request<DiscardBody<Empty<Bytes>>>| {
        assert!(request.body().is_end_stream());
        std::future::ready(Ok::<_, Infallible>(()))
    }));
    let request = Request::new(Empty::new());
    futures_util::future::FutureExt::now_or_never(service.call(request))
        .unwrap()
        .unwrap();
    assert_eq!(more.load(Ordering::Relaxed), 0);
}
