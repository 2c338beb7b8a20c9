//! What clients see of the listener, and how it ends.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod ends;
mod h2;
mod transport;
mod workers;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::body::Body;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tokio::sync::Semaphore;
use tower::service_fn;
use tower_affinity::PeerAddr;

use super::{ConnectionEvent, Drained, EndCause, Limits, LiveLimits, ServeOptions, Tunnels};
use crate::wire::{Running, Wire, within};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Holds requests back until the test lets them go.
struct Gate {
    arrived: Semaphore,
    allowed: Semaphore,
}

impl Gate {
    fn closed() -> Arc<Self> {
        Self::allowing(0)
    }

    fn open() -> Arc<Self> {
        Self::allowing(Semaphore::MAX_PERMITS)
    }

    fn allowing(requests: usize) -> Arc<Self> {
        Arc::new(Self {
            arrived: Semaphore::new(0),
            allowed: Semaphore::new(requests),
        })
    }

    async fn pass(&self) {
        self.arrived.add_permits(1);
        self.allowed.acquire().await.expect("never closed").forget();
    }

    /// Waits until one more request has arrived.
    async fn arrival(&self) {
        let arrived = within("a request to arrive", self.arrived.acquire()).await;
        arrived.expect("never closed").forget();
    }
}

async fn gated(gate: &Arc<Gate>, options: ServeOptions) -> Running {
    let gate = Arc::clone(gate);
    let service = service_fn(move |_: Request<Incoming>| {
        let gate = Arc::clone(&gate);
        async move {
            gate.pass().await;
            Ok::<_, Infallible>(Response::new(Body::from("served!")))
        }
    });
    Running::start(service, options, Tunnels::new()).await
}

fn limited(edit: impl FnOnce(&mut Limits)) -> ServeOptions {
    let mut limits = Limits::default();
    edit(&mut limits);
    ServeOptions::new().limits(LiveLimits::new(limits))
}

fn impatient() -> ServeOptions {
    limited(|limits| limits.header_timeout = Duration::from_millis(50))
}

#[tokio::test]
async fn requests_carry_the_address_of_their_peer() {
    let service = service_fn(|request: Request<Incoming>| async move {
        let peer = request.extensions().get::<PeerAddr>().expect("a peer");
        Ok::<_, Infallible>(Response::new(Body::from(format!("{}!", peer.0))))
    });
    let running = Running::start(service, ServeOptions::new(), Tunnels::new()).await;
    let mut client = Wire::connect(running.address).await;
    client.send(GET).await;
    client.head().await;
    assert_eq!(client.until("!").await, format!("{}!", client.address()));
}

#[tokio::test]
async fn http_2_is_served_on_the_same_port() {
    let running = gated(&Gate::open(), ServeOptions::new()).await;
    let client = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .build_http::<Body>();
    let uri = format!("http://{}/", running.address).parse().unwrap();
    let answer = within("the answer", client.get(uri)).await.unwrap();
    assert_eq!(answer.version(), http::Version::HTTP_2);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "served!");
}

#[tokio::test]
async fn slow_head_closes_the_connection() {
    let running = gated(&Gate::open(), impatient()).await;
    let mut client = Wire::connect(running.address).await;
    client.send("GET / HTTP/1.1\r\nHost:").await;
    let rest = client.rest().await;
    assert!(!rest.contains("served!"), "{rest}");
}

#[tokio::test]
async fn a_head_that_does_not_come_in_time_is_told_as_that() {
    for before in ["", GET] {
        let ends = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&ends);
        let options = impatient().connections(move |event| {
            if let ConnectionEvent::Ended(cause) = event {
                told.lock().unwrap().push(cause);
            }
        });
        let running = gated(&Gate::open(), options).await;
        let mut client = Wire::connect(running.address).await;
        client.send(before).await;
        client.send("GET / HTTP/1.1\r\nHost:").await;
        client.rest().await;
        running.stop();
        assert!(running.ended().await.is_clean());
        let ends = std::mem::take(&mut *ends.lock().unwrap());
        assert_eq!(ends, [EndCause::HeaderTimeout], "after {before:?}");
    }
}

/// The protocol is not known yet, so no timer of hyper runs.
#[tokio::test]
async fn silent_client_is_closed() {
    let running = gated(&Gate::open(), impatient()).await;
    let mut client = Wire::connect(running.address).await;
    assert_eq!(client.rest().await, "");
}

#[tokio::test]
async fn client_that_stops_inside_the_h2_preface_is_closed() {
    let running = gated(&Gate::open(), impatient()).await;
    let mut client = Wire::connect(running.address).await;
    client.send("PRI * HTTP/2.0\r\n").await;
    assert_eq!(client.rest().await, "");
}

#[tokio::test]
async fn slow_answer_is_no_slow_head() {
    let gate = Gate::closed();
    let running = gated(&gate, impatient()).await;
    let mut slow = Wire::connect(running.address).await;
    slow.send(GET).await;
    // A second client that is timed out shows that the first one's time has passed as well.
    Wire::connect(running.address).await.rest().await;
    gate.allowed.add_permits(1);
    slow.until("served!").await;
}

/// SEC-26.
#[tokio::test]
async fn too_large_a_head_is_431() {
    let running = gated(
        &Gate::open(),
        limited(|limits| limits.max_header_bytes = 8 * 1024),
    )
    .await;
    let mut client = Wire::connect(running.address).await;
    let cookie = "c".repeat(16 * 1024);
    client
        .send(format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: {cookie}"))
        .await;
    assert!(client.head().await.starts_with("HTTP/1.1 431 "));
}

#[tokio::test]
async fn too_many_fields_are_431() {
    let running = gated(&Gate::open(), limited(|limits| limits.max_headers = 4)).await;
    let mut client = Wire::connect(running.address).await;
    let fields = "X: 1\r\n".repeat(5);
    client
        .send(format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n"))
        .await;
    assert!(client.head().await.starts_with("HTTP/1.1 431 "));
}

/// SEC-47.
#[tokio::test]
async fn at_the_limit_connections_wait() {
    let running = gated(&Gate::open(), limited(|limits| limits.max_connections = 1)).await;
    let mut first = Wire::connect(running.address).await;
    first.send(GET).await;
    first.until("served!").await;
    let mut second = Wire::connect(running.address).await;
    second.send(GET).await;
    first.send(GET).await;
    first.until("served!").await;
    assert!(!second.has_answer().await, "accepted above the limit");
    drop(first);
    second.until("served!").await;
}

#[tokio::test]
async fn panic_in_the_service_ends_only_its_connection() {
    let service = service_fn(|request: Request<Incoming>| async move {
        assert!(request.uri().path() != "/panic", "on purpose");
        Ok::<_, Infallible>(Response::new(Body::from("served!")))
    });
    let running = Running::start(service, ServeOptions::new(), Tunnels::new()).await;
    let mut other = Wire::connect(running.address).await;
    let mut unlucky = Wire::connect(running.address).await;
    unlucky.send("GET /panic HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(unlucky.rest().await, "");
    other.send(GET).await;
    other.until("served!").await;
    running.stop();
    assert!(running.ended().await.is_clean());
}

#[tokio::test]
async fn deadline_cuts_what_does_not_end() {
    let never = Gate::closed();
    let options = ServeOptions::new().drain_deadline(Duration::from_millis(50));
    let running = gated(&never, options).await;
    let mut client = Wire::connect(running.address).await;
    client.send(GET).await;
    never.arrival().await;
    running.stop();
    let drained = running.ended().await;
    assert_eq!(
        drained,
        Drained {
            connections: 1,
            ..Drained::default()
        }
    );
    assert_eq!(client.rest().await, "");
}
