//! The end in good order: no request is lost by it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{GET, Gate, gated};
use crate::{
    serve::{Limits, LiveLimits, ServeOptions, Shutdown, Tunnels, serve},
    wire::{Wire, within},
};

/// As short as a test can wait for, and above what a busy machine takes for one request.
fn brief() -> ServeOptions {
    ServeOptions::new().linger(Duration::from_millis(400))
}

#[tokio::test]
async fn graceful_end_finishes_requests_and_closes_the_idle() {
    let gate = Gate::allowing(1);
    let running = gated(&gate, brief()).await;
    let mut silent = Wire::connect(running.address).await;
    let mut idle = Wire::connect(running.address).await;
    idle.send(GET).await;
    idle.until("served!").await;
    gate.arrival().await;
    let mut busy = Wire::connect(running.address).await;
    busy.send(GET).await;
    gate.arrival().await;

    running.stop();
    assert_eq!(idle.rest().await, "", "idle connections close");
    assert_eq!(silent.rest().await, "", "silent connections close");
    gate.allowed.add_permits(1);
    let answer = busy.rest().await;
    assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
    assert!(answer.ends_with("served!"), "{answer}");
    assert!(running.ended().await.is_clean());
}

#[tokio::test]
async fn an_idle_connection_takes_one_more_request_and_says_that_it_is_the_last() {
    let running = gated(&Gate::open(), brief()).await;
    let mut used = Wire::connect(running.address).await;
    used.send(GET).await;
    assert!(!used.until("served!").await.contains("connection: close"));
    let mut fresh = Wire::connect(running.address).await;
    running.stop();
    // well after the end has begun, and within the linger
    tokio::time::sleep(Duration::from_millis(100)).await;
    for client in [&mut used, &mut fresh] {
        client.send(GET).await;
        let answer = client.rest().await;
        assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
        assert!(answer.ends_with("served!"), "{answer}");
    }
    assert!(running.ended().await.is_clean());
}

#[tokio::test]
async fn a_request_that_comes_slowly_is_no_idle_connection() {
    let running = gated(&Gate::open(), brief()).await;
    let mut client = Wire::connect(running.address).await;
    running.stop();
    for part in ["GET / HTTP/1.1\r\n", "Host: ", "a\r\n", "\r\n"] {
        client.send(part).await;
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    let answer = client.rest().await;
    assert!(answer.ends_with("served!"), "{answer}");
}

#[tokio::test]
async fn connections_in_the_systems_queue_are_served() {
    let gate = Gate::closed();
    let one = Limits {
        max_connections: 1,
        ..Limits::default()
    };
    let running = gated(&gate, brief().limits(LiveLimits::new(one))).await;
    let mut first = Wire::connect(running.address).await;
    first.send(GET).await;
    gate.arrival().await;
    // the limit leaves these where the kernel has put them
    let mut queued = Vec::new();
    for _ in 0..50 {
        let mut client = Wire::connect(running.address).await;
        client.send(GET).await;
        queued.push(client);
    }
    running.stop();
    gate.allowed.add_permits(51);
    for mut client in [first].into_iter().chain(queued) {
        let answer = client.rest().await;
        assert!(answer.ends_with("served!"), "lost in the queue: {answer:?}");
    }
    assert!(running.ended().await.is_clean());
}

#[tokio::test]
async fn before_the_delay_is_over_everything_goes_on_as_before() {
    let delay = Duration::from_millis(300);
    let running = gated(&Gate::open(), brief().drain_delay(delay)).await;
    let mut old = Wire::connect(running.address).await;
    old.send(GET).await;
    old.until("served!").await;
    let begun = Instant::now();
    running.stop();
    let mut new = Wire::connect(running.address).await;
    for client in [&mut old, &mut new] {
        client.send(GET).await;
        let answer = client.until("served!").await;
        assert!(!answer.contains("connection: close"), "{answer}");
    }
    let address = running.address;
    assert!(running.ended().await.is_clean());
    assert!(begun.elapsed() >= delay, "the listener ended too early");
    assert!(
        TcpStream::connect(address).await.is_err(),
        "it still listens"
    );
}

#[tokio::test]
async fn a_socket_that_was_handed_over_keeps_its_queue() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let other = listener.into_std().unwrap();
    let listener = TcpListener::from_std(other.try_clone().unwrap()).unwrap();
    let shutdown = Shutdown::from(CancellationToken::new());
    let service = tower::service_fn(|_| async {
        Ok::<_, std::convert::Infallible>(http::Response::new(axum::body::Body::empty()))
    });
    let options = brief().drain_delay(Duration::from_secs(20));
    let tunnels = Tunnels::new();
    let serving = tokio::spawn(serve(listener, service, options, tunnels, shutdown.clone()));
    tokio::task::yield_now().await;
    shutdown.hand_over();
    let ended = within("an end without delay", serving).await.unwrap();
    assert!(ended.is_clean());
    let client = TcpStream::connect(address).await.expect("it listens on");
    let (_, peer) = other.accept().expect("the queue is there");
    assert_eq!(peer, client.local_addr().unwrap());
}
