//! What takes too long.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::{net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use metrics::{Counter, CounterFn};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc;
use tower::ServiceExt;
use tower_affinity::respond::UpstreamFault;

use crate::{
    serve::{ServeOptions, Tunnels},
    upstream::{Limits, TimeoutKind, Timeouts, Upstream, UpstreamError, UpstreamOptions},
    wire::{Running, Wire, endpoint, within},
};

const SHORT: Duration = Duration::from_millis(60);

/// What was counted, by kind.
#[derive(Clone, Default)]
struct Counts(Arc<[Arc<Count>; 4]>);

#[derive(Default)]
struct Count(AtomicU64);

impl CounterFn for Count {
    fn increment(&self, by: u64) {
        self.0.fetch_add(by, Ordering::SeqCst);
    }

    fn absolute(&self, to: u64) {
        self.0.store(to, Ordering::SeqCst);
    }
}

impl Counts {
    fn timeouts(&self) -> Timeouts {
        let counts = Arc::clone(&self.0);
        Timeouts::new(|kind| Counter::from_arc(Arc::clone(&counts[kind as usize])))
    }

    fn seen(&self) -> Vec<(&'static str, u64)> {
        let all = TimeoutKind::ALL.into_iter().zip(&*self.0);
        all.map(|(kind, count)| (kind.as_str(), count.0.load(Ordering::SeqCst)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

/// Sends `first`, and then nothing for as long as the gateway waits; then says so.
async fn stalling(first: &'static str) -> (SocketAddr, mpsc::UnboundedReceiver<()>) {
    let (closed, closings) = mpsc::unbounded_channel();
    let address = endpoint(move |mut wire| {
        let closed = closed.clone();
        async move {
            wire.head().await;
            wire.send(first).await;
            wire.rest().await;
            closed.send(()).unwrap();
        }
    })
    .await;
    (address, closings)
}

async fn through(address: SocketAddr, options: UpstreamOptions) -> String {
    let gateway = Running::proxy_with(address, options, ServeOptions::new()).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    client.rest().await
}

#[tokio::test]
async fn a_body_that_stalls_breaks_off_and_never_looks_whole() {
    for (first, left) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour", "four"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n",
            "four\r\n",
        ),
    ] {
        let (address, mut closings) = stalling(first).await;
        let counts = Counts::default();
        let options = UpstreamOptions::new()
            .idle_timeout(Some(SHORT))
            .timeouts(counts.timeouts());
        let answer = through(address, options).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.ends_with(left), "more than came: {answer}");
        within("the endpoint's connection to close", closings.recv())
            .await
            .unwrap();
        assert_eq!(counts.seen(), [("idle", 1)]);
    }
}

#[tokio::test]
async fn an_event_stream_may_be_silent() {
    let (finish, wait) = tokio::sync::oneshot::channel::<()>();
    let wait = std::sync::Mutex::new(Some(wait));
    let address = endpoint(move |mut wire| {
        let wait = wait.lock().unwrap().take();
        async move {
            wire.head().await;
            wire.send(
                "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream;charset=utf-8\r\n\r\ndata: 1",
            )
            .await;
            wait.unwrap().await.unwrap();
            wire.send("\n\n").await;
        }
    })
    .await;
    let options = UpstreamOptions::new().idle_timeout(Some(SHORT));
    let gateway = Running::proxy_with(address, options, ServeOptions::new()).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    client.until("data: 1").await;
    // An exchange that may not be silent ends meanwhile, so that much time has passed.
    let (other, _closings) = stalling("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour").await;
    through(other, UpstreamOptions::new().idle_timeout(Some(SHORT * 2))).await;
    finish.send(()).unwrap();
    client.until("\n\n").await;
}

#[tokio::test]
async fn a_client_that_takes_its_time_is_no_stalled_endpoint() {
    let address = endpoint(|mut wire| async move {
        wire.head().await;
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n")
            .await;
        wire.until("never").await;
    });
    let options = UpstreamOptions::new().idle_timeout(Some(SHORT * 4));
    let leaf = Upstream::new(options, Tunnels::new()).endpoint(address.await);
    let request = Request::get("/").body(Empty::<Bytes>::new()).unwrap();
    let body = leaf.oneshot(request).await.unwrap().into_body();
    let mut body = std::pin::pin!(body);
    body.frame().await.unwrap().unwrap();
    tokio::time::sleep(SHORT * 5).await;
    // Nobody asked until now, so the wait begins here.
    let next = tokio::time::timeout(SHORT, body.frame()).await;
    assert!(next.is_err(), "broke off at once: {next:?}");
    let broken = within("the end", body.frame()).await.unwrap().unwrap_err();
    let fault = broken
        .downcast_ref::<UpstreamError>()
        .map(UpstreamError::fault);
    assert_eq!(fault, Some(UpstreamFault::Timeout));
}

#[tokio::test]
async fn the_whole_has_a_limit_before_and_after_the_head() {
    let counts = Counts::default();
    let options = || {
        UpstreamOptions::new()
            .total_timeout(Some(SHORT))
            .timeouts(counts.timeouts())
    };
    let (silent, _closings) = stalling("").await;
    let answer = Upstream::new(options(), Tunnels::new()).endpoint(silent);
    let request = Request::get("/").body(Empty::<Bytes>::new()).unwrap();
    let error = within("the leaf", answer.oneshot(request))
        .await
        .unwrap_err();
    assert_eq!(error.fault(), UpstreamFault::Timeout);
    assert_eq!(counts.seen(), [("total", 1)]);

    let address = endpoint(|mut wire| async move {
        wire.head().await;
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            .await;
        // always something new, so it is never idle
        for _ in 0..1_000 {
            wire.try_send("1\r\n.\r\n").await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        wire.try_send("0\r\n\r\n").await;
    })
    .await;
    let answer = through(address, options()).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(!answer.contains("0\r\n\r\n"), "ended as if whole: {answer}");
    assert_eq!(counts.seen(), [("total", 2)]);
}

#[tokio::test]
async fn paths_have_limits_of_their_own() {
    let counts = Counts::default();
    let (silent, _closings) = stalling("").await;
    let options = UpstreamOptions::new()
        .timeouts(counts.timeouts())
        .scope("/hasty".parse().unwrap(), Limits::default().response(SHORT));
    let leaf = Upstream::new(options, Tunnels::new()).endpoint(silent);
    let ask = |path: &str| {
        let request = Request::get(path).body(Empty::<Bytes>::new()).unwrap();
        leaf.clone().oneshot(request)
    };
    let patient = ask("/");
    tokio::pin!(patient);
    tokio::select! {
        hasty = ask("/hasty") => {
            assert_eq!(hasty.unwrap_err().fault(), UpstreamFault::Timeout);
        }
        _ = &mut patient => panic!("the other path has the default of 30 s"),
    }
    assert_eq!(counts.seen(), [("response", 1)]);
}

#[tokio::test]
async fn a_connection_that_does_not_open_is_counted() {
    // takes connections and never shakes hands
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let certificate = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
    let tls = crate::upstream::EndpointTls::new([certificate.cert.der()], None).unwrap();
    let counts = Counts::default();
    let options = UpstreamOptions::new()
        .connect_timeout(SHORT)
        .timeouts(counts.timeouts())
        .tls(Some(tls));
    let leaf = Upstream::new(options, Tunnels::new()).endpoint(address);
    let request = Request::get("/").body(Empty::<Bytes>::new()).unwrap();
    let error = within("the leaf", leaf.oneshot(request)).await.unwrap_err();
    assert_eq!(error.fault(), UpstreamFault::Connect);
    assert_eq!(counts.seen(), [("connect", 1)]);
}
