//! Which connection a request goes over, and what becomes of those that are not used.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use tokio::{
    net::{TcpSocket, TcpStream},
    runtime,
    sync::mpsc,
    time::{sleep, timeout},
};
use tower::ServiceExt;
use tower_affinity::respond::UpstreamFault;

use crate::{
    serve::Tunnels,
    upstream::{AnswerBody, EndpointService, Upstream, UpstreamOptions},
    wire::{Wire, endpoint, eventually, within},
};

type Leaf = EndpointService<Full<Bytes>>;

fn leaf(address: SocketAddr, options: UpstreamOptions) -> Leaf {
    Upstream::new(options, Tunnels::new()).endpoint(address)
}

async fn ask(leaf: &Leaf, path: &str) -> Response<AnswerBody> {
    let request = Request::get(path).body(Full::default()).unwrap();
    let answer = within("an answer", leaf.clone().oneshot(request)).await;
    answer.expect("no failure")
}

async fn text(answer: Response<AnswerBody>) -> String {
    let body = within("the body", answer.into_body().collect()).await;
    String::from_utf8(body.unwrap().to_bytes().into()).unwrap()
}

fn answer(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// An endpoint that answers each request with the number of its connection, and tells of each
/// connection that ends.
async fn numbering() -> (SocketAddr, mpsc::UnboundedReceiver<usize>) {
    let (ended, endings) = mpsc::unbounded_channel();
    let connections = AtomicUsize::new(0);
    let address = endpoint(move |mut wire| {
        let number = connections.fetch_add(1, Ordering::SeqCst);
        let ended = ended.clone();
        async move {
            while wire.try_head().await.is_some() {
                wire.send(answer(&number.to_string())).await;
            }
            // a test that has ended listens no more
            ended.send(number).ok();
        }
    })
    .await;
    (address, endings)
}

#[tokio::test]
async fn the_warmest_connection_is_used_first() {
    let connections = AtomicUsize::new(0);
    let all = Arc::new(tokio::sync::Barrier::new(3));
    let address = endpoint(move |mut wire| {
        let number = connections.fetch_add(1, Ordering::SeqCst);
        let all = Arc::clone(&all);
        async move {
            let head = wire.head().await;
            assert!(head.starts_with("GET /together "), "{head}");
            all.wait().await;
            wire.send(answer(&number.to_string())).await;
            while wire.try_head().await.is_some() {
                wire.send(answer(&number.to_string())).await;
            }
        }
    })
    .await;
    let leaf = leaf(address, UpstreamOptions::new());
    let together = (0..3).map(|_| async { text(ask(&leaf, "/together").await).await });
    let mut opened = futures_util::future::join_all(together).await;
    opened.sort();
    assert_eq!(opened, ["0", "1", "2"], "three at once share nothing");
    let warmest = text(ask(&leaf, "/").await).await;
    for _ in 0..5 {
        assert_eq!(text(ask(&leaf, "/").await).await, warmest);
    }
}

#[tokio::test]
async fn a_connection_that_comes_back_is_used_where_no_other_opens() {
    const A_MOMENT: Duration = Duration::from_millis(50);
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let leaf = leaf(
        address,
        UpstreamOptions::new().connect_timeout(Duration::from_secs(60)),
    );
    let asked = |path| {
        let leaf = leaf.clone();
        tokio::spawn(async move { text(ask(&leaf, path).await).await })
    };
    let first = asked("/first");
    let (stream, _) = within("a connection", listener.accept()).await.unwrap();
    let mut wire = Wire::over(stream);
    assert!(wire.head().await.starts_with("GET /first "));
    // until the system drops what would open another one
    let mut queued = Vec::new();
    while let Ok(opened) = timeout(A_MOMENT, TcpStream::connect(address)).await {
        queued.push(opened.unwrap());
        assert!(queued.len() < 64, "the queue has no end");
    }
    let second = asked("/second");
    sleep(A_MOMENT).await;
    assert!(!second.is_finished(), "it has found a connection");
    wire.send(answer("one")).await;
    assert_eq!(within("the first", first).await.unwrap(), "one");
    let head = within("the second on the same connection", wire.head()).await;
    assert!(head.starts_with("GET /second "), "{head}");
    wire.send(answer("two")).await;
    assert_eq!(within("the second", second).await.unwrap(), "two");
}

#[tokio::test]
async fn of_unused_connections_only_so_many_are_kept() {
    let (address, mut endings) = numbering().await;
    let leaf = leaf(address, UpstreamOptions::new().pool_max_idle(1));
    let together = (0..3).map(|_| async { ask(&leaf, "/").await });
    for answer in futures_util::future::join_all(together).await {
        text(answer).await;
    }
    let two = [endings.recv().await, endings.recv().await];
    let kept = text(ask(&leaf, "/").await).await;
    assert!(!two.contains(&kept.parse().ok()), "{two:?}, kept {kept}");
}

#[tokio::test]
async fn a_connection_that_the_endpoint_has_closed_is_never_given_a_request() {
    let (ended, mut endings) = mpsc::unbounded_channel();
    let address = endpoint(move |mut wire| {
        let ended = ended.clone();
        async move {
            wire.until("body").await;
            wire.send(answer("ok")).await;
            wire.finish().await;
            ended.send(wire.rest().await).unwrap();
        }
    })
    .await;
    let leaf = leaf(address, UpstreamOptions::new());
    for round in 0..50 {
        // a request that must not be sent twice
        let body = Full::new(Bytes::from_static(b"body"));
        let request = Request::post("/").body(body).unwrap();
        let answer = within("an answer", leaf.clone().oneshot(request)).await;
        assert_eq!(text(answer.expect("no failure")).await, "ok");
        if round % 2 == 0 {
            tokio::task::yield_now().await;
            continue;
        }
        // closed although nobody asks again
        for _ in 0..2 {
            let rest = within("the end", endings.recv()).await.unwrap();
            assert_eq!(rest, "", "a request on a connection that was closed");
        }
    }
}

#[tokio::test]
async fn a_connection_that_brings_what_nobody_asked_for_is_not_used_again() {
    let connections = AtomicUsize::new(0);
    let address = endpoint(move |mut wire| {
        let number = connections.fetch_add(1, Ordering::SeqCst);
        async move {
            wire.head().await;
            let number = number.to_string();
            wire.send(answer(&number) + &answer("stale")).await;
            assert_eq!(wire.rest().await, "", "another request");
        }
    })
    .await;
    let leaf = leaf(address, UpstreamOptions::new());
    for number in 0..10 {
        assert_eq!(text(ask(&leaf, "/").await).await, number.to_string());
    }
}

#[tokio::test]
async fn an_unread_answer_does_not_return_its_connection() {
    const LENGTH: usize = 4 << 20;
    let (address, connections) = counted(|path| match path {
        "/long" => answer(&"x".repeat(LENGTH)),
        _ => answer("short"),
    })
    .await;
    let leaf = leaf(address, UpstreamOptions::new());
    let long = ask(&leaf, "/long").await;
    assert_eq!(text(ask(&leaf, "/").await).await, "short");
    assert_eq!(text(ask(&leaf, "/").await).await, "short");
    assert_eq!(connections.load(Ordering::SeqCst), 2, "one for the long");
    assert_eq!(text(long).await.len(), LENGTH);
    // read to its end it does
    let both = [ask(&leaf, "/long").await, ask(&leaf, "/long").await];
    assert_eq!(connections.load(Ordering::SeqCst), 2);
    drop(both);
    text(ask(&leaf, "/").await).await;
    assert_eq!(connections.load(Ordering::SeqCst), 3, "given up half-read");
}

/// An endpoint that answers by path, and how many connections it has got.
async fn counted(
    answer: impl Fn(&str) -> String + Clone + Send + Sync + 'static,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    let address = endpoint(move |mut wire| {
        count.fetch_add(1, Ordering::SeqCst);
        let answer = answer.clone();
        async move {
            while let Some(head) = wire.try_head().await {
                let path = head.split(' ').nth(1).unwrap_or_default();
                if !wire.try_send(answer(path)).await {
                    return;
                }
            }
        }
    })
    .await;
    (address, connections)
}

#[tokio::test]
async fn an_answer_that_comes_in_pieces_returns_its_connection_at_its_end() {
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    let address = endpoint(move |mut wire| {
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            while wire.try_head().await.is_some() {
                wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                    .await;
                for piece in ["3\r\none\r\n", "3\r\ntwo\r\n", "0\r\n", "x-sum: 1\r\n\r\n"] {
                    sleep(Duration::from_millis(2)).await;
                    wire.send(piece).await;
                }
            }
        }
    })
    .await;
    let leaf = leaf(address, UpstreamOptions::new());
    for _ in 0..5 {
        let answer = ask(&leaf, "/").await.into_body();
        let body = within("the body", answer.collect()).await.unwrap();
        assert_eq!(body.trailers().unwrap()["x-sum"], "1");
        assert_eq!(body.to_bytes(), "onetwo");
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_upload_goes_on_while_the_answer_is_not_read() {
    let (uploaded, mut uploads) = mpsc::unbounded_channel();
    let address = endpoint(move |mut wire| {
        let uploaded = uploaded.clone();
        async move {
            wire.until("begin").await;
            wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n")
                .await;
            wire.until("end\r\n0\r\n\r\n").await;
            uploaded.send(()).unwrap();
            wire.send("0\r\n\r\n").await;
            wire.until("GET /next ").await;
            wire.head().await;
            wire.send(answer("next")).await;
        }
    })
    .await;
    let (pieces, mut coming) = mpsc::unbounded_channel::<&'static str>();
    let frames = futures_util::stream::poll_fn(move |cx| coming.poll_recv(cx));
    let frames = futures_util::StreamExt::map(frames, |piece| {
        Ok::<_, std::convert::Infallible>(Frame::data(Bytes::from(piece)))
    });
    let upstream = Upstream::new(UpstreamOptions::new(), Tunnels::new());
    let leaf = upstream.endpoint(address);
    let body = http_body_util::combinators::UnsyncBoxBody::new(StreamBody::new(frames));
    let request = Request::post("/").body(body).unwrap();
    pieces.send("begin").unwrap();
    let early = within("the head", leaf.clone().oneshot(request)).await;
    let early = early.expect("an answer");
    pieces.send("more").unwrap();
    pieces.send("end").unwrap();
    drop(pieces);
    within("the upload", uploads.recv()).await.unwrap();
    let body = within("the body", early.into_body().collect()).await;
    assert_eq!(body.unwrap().to_bytes(), "early");
    // its task gives the connection back
    let empty = http_body_util::Empty::new().map_err(|never| match never {});
    let body = http_body_util::combinators::UnsyncBoxBody::new(empty);
    let request = Request::get("/next").body(body).unwrap();
    sleep(Duration::from_millis(50)).await;
    let answer = within("the next answer", leaf.oneshot(request))
        .await
        .unwrap();
    let body = within("the next body", answer.into_body().collect()).await;
    assert_eq!(body.unwrap().to_bytes(), "next");
}

/// Sockets are registered on the runtime on which they were opened, and end with it.
#[tokio::test]
async fn a_connection_stays_on_its_runtime() {
    let (address, mut endings) = numbering().await;
    let leaf = leaf(address, UpstreamOptions::new());
    let here = text(ask(&leaf, "/").await).await;
    let there = leaf.clone();
    let (numbers, mut seen) = mpsc::unbounded_channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let runtime = runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(async {
            for _ in 0..3 {
                numbers.send(text(ask(&there, "/").await).await).unwrap();
            }
        });
        ended.recv().unwrap();
        drop(runtime);
    });
    let mut other = Vec::new();
    for _ in 0..3 {
        other.push(within("the other runtime", seen.recv()).await.unwrap());
    }
    assert_ne!(other[0], here, "one for each runtime");
    assert!(other.iter().all(|number| *number == other[0]), "{other:?}");
    assert_eq!(text(ask(&leaf, "/").await).await, here);
    end.send(()).unwrap();
    // the endpoint sees that the connections of a runtime end with it
    let ended = within("the end of the other's", endings.recv()).await;
    assert_eq!(ended.unwrap().to_string(), other[0]);
    thread.join().unwrap();
    assert_eq!(text(ask(&leaf, "/").await).await, here);
}

#[tokio::test]
async fn a_pool_that_is_given_up_closes_what_it_keeps() {
    let (address, mut endings) = numbering().await;
    let upstream = Upstream::new(UpstreamOptions::new(), Tunnels::new());
    let leaf: Leaf = upstream.endpoint(address);
    text(ask(&leaf, "/").await).await;
    drop((upstream, leaf));
    within("the end", endings.recv()).await.unwrap();
}

/// Most answers come long before their time, so one timer serves many; it must be there for each.
#[tokio::test]
async fn each_exchange_of_a_connection_has_its_own_time() {
    let address = endpoint(|mut wire| async move {
        while let Some(head) = wire.try_head().await {
            if head.starts_with("GET /silent ") {
                wire.rest().await;
                return;
            }
            sleep(Duration::from_millis(40)).await;
            wire.send(answer("ok")).await;
        }
    })
    .await;
    let options = UpstreamOptions::new().response_timeout(Duration::from_millis(150));
    let leaf = leaf(address, options);
    for _ in 0..10 {
        assert_eq!(text(ask(&leaf, "/").await).await, "ok");
    }
    let began = tokio::time::Instant::now();
    let request = Request::get("/silent").body(Full::default()).unwrap();
    let error = within("the end of its time", leaf.clone().oneshot(request)).await;
    assert_eq!(error.unwrap_err().fault(), UpstreamFault::Timeout);
    let waited = began.elapsed();
    assert!(waited >= Duration::from_millis(150), "after {waited:?}");
}

#[tokio::test]
async fn a_request_that_is_given_up_closes_its_connection() {
    let (heads, mut seen) = mpsc::unbounded_channel();
    let address = endpoint(move |mut wire| {
        let heads = heads.clone();
        async move {
            heads.send(wire.head().await).unwrap();
            heads.send(wire.rest().await).unwrap();
        }
    })
    .await;
    let leaf = leaf(address, UpstreamOptions::new());
    let request = Request::get("/").body(Full::default()).unwrap();
    let mut answer = Box::pin(leaf.oneshot(request));
    tokio::select! {
        _ = &mut answer => panic!("it never answers"),
        head = seen.recv() => assert!(head.unwrap().starts_with("GET / ")),
    }
    drop(answer);
    assert_eq!(within("the end", seen.recv()).await.unwrap(), "");
    // nothing of it is left to be polled
    eventually("nothing", || seen.is_empty()).await;
}
