//! Endpoints that do not answer, or not well.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::{future::poll_fn, net::SocketAddr, time::Duration};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty, Full};
use rustix::io::Errno;
use tokio::{
    net::TcpListener,
    sync::mpsc,
    time::{Instant, advance},
};
use tokio_test::{assert_pending, assert_ready, task};
use tower::ServiceExt;
use tower_affinity::Problem;
use tower_affinity::respond::{RespondLayer, UpstreamFault};
use tower_layer::Layer;

use crate::{
    serve::{ServeOptions, Tunnels},
    upstream::{
        Limits, TimeoutKind, Upstream, UpstreamError, UpstreamOptions, body::Forwarded,
        deadline::Deadline, error::unopened, timer::Timer,
    },
    wire::{Running, Wire, endpoint, within},
};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

async fn error(address: SocketAddr, options: UpstreamOptions) -> UpstreamError {
    let leaf = Upstream::new(options, Tunnels::new()).endpoint(address);
    let request = Request::get("/")
        .header("host", "a")
        .body(Empty::<Bytes>::new())
        .unwrap();
    let answer = within("the leaf", leaf.oneshot(request)).await;
    let error = answer.expect_err("an error");
    assert!(!error.to_string().contains("127.0.0.1"), "{error}");
    error
}

async fn error_after(answer: &'static str) -> UpstreamFault {
    let address = endpoint(move |mut wire| async move {
        wire.head().await;
        wire.send(answer).await;
    })
    .await;
    error(address, UpstreamOptions::new()).await.fault()
}

#[tokio::test]
async fn every_fault_has_its_problem() {
    for (fault, problem) in [
        (UpstreamFault::Connect, Problem::UpstreamError),
        (UpstreamFault::Closed, Problem::UpstreamError),
        (UpstreamFault::Protocol, Problem::UpstreamError),
        (UpstreamFault::Declined, Problem::UpstreamError),
        (UpstreamFault::Timeout, Problem::UpstreamTimeout),
        (UpstreamFault::RequestBody, Problem::BadRequest),
    ] {
        let failing = tower::service_fn(move |_: Request<()>| async move {
            Err::<http::Response<Bytes>, _>(UpstreamError::new(fault))
        });
        let answer = RespondLayer::new()
            .layer(failing)
            .oneshot(Request::new(()))
            .await
            .unwrap();
        assert_eq!(answer.status(), problem.status(), "{fault:?}");
        let body = String::from_utf8(answer.into_body().to_vec()).unwrap();
        assert!(body.contains(problem.kind()), "{fault:?}: {body}");
    }
}

#[tokio::test]
async fn refused_connection_says_that_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = error(address, UpstreamOptions::new()).await;
    assert_eq!(error.fault(), UpstreamFault::Connect);
    assert!(error.unsent());
}

/// Who fills our table of descriptors must not have every endpoint ejected by it.
#[test]
fn what_we_run_short_of_is_no_fault_of_the_endpoint() {
    for (errno, fault) in [
        (Errno::MFILE, UpstreamFault::Unsent),
        (Errno::NFILE, UpstreamFault::Unsent),
        (Errno::NOMEM, UpstreamFault::Unsent),
        (Errno::CONNREFUSED, UpstreamFault::Connect),
        (Errno::TIMEDOUT, UpstreamFault::Connect),
    ] {
        let error = std::io::Error::from(errno);
        assert_eq!(unopened(&error), fault, "{errno}");
        let ran_short = UpstreamError::caused(fault, error).ran_short();
        assert_eq!(ran_short, fault == UpstreamFault::Unsent, "{errno}");
    }
}

#[tokio::test]
async fn silent_endpoint_times_out() {
    let address = endpoint(|mut wire| async move {
        wire.rest().await;
    })
    .await;
    let options = UpstreamOptions::new().response_timeout(Duration::from_millis(50));
    let error = error(address, options).await;
    assert_eq!(error.fault(), UpstreamFault::Timeout);
    assert!(!error.unsent());
}

#[tokio::test(start_paused = true)]
async fn the_time_counts_from_the_last_progress_of_the_upload() {
    let start = Instant::now();
    let part = Full::new(Bytes::from_static(b"part"));
    let (mut upload, progress) = Forwarded::new(part, true, start);
    let limits = Limits::default().response(Duration::from_secs(10));
    let mut deadline = Deadline::new(start, &limits, progress);
    let mut timer = Timer::default();
    let mut deadline = task::spawn(poll_fn(move |cx| {
        deadline.poll(|until| timer.poll(until, cx))
    }));
    assert_pending!(deadline.poll());
    advance(Duration::from_secs(9)).await;
    upload.frame().await.unwrap().unwrap();
    advance(Duration::from_secs(9)).await;
    assert_pending!(deadline.poll(), "the upload moved 9 s ago");
    advance(Duration::from_secs(2)).await;
    assert_eq!(assert_ready!(deadline.poll()), TimeoutKind::Response);
}

#[tokio::test]
async fn slow_body_is_no_timeout() {
    let (finish, mut wait) = mpsc::unbounded_channel::<()>();
    let wait_in_endpoint = std::sync::Mutex::new(Some(async move { wait.recv().await }));
    let address = endpoint(move |mut wire| {
        let wait = wait_in_endpoint.lock().unwrap().take();
        async move {
            wire.head().await;
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nbegin")
                .await;
            if let Some(wait) = wait {
                wait.await;
            }
            wire.send("!").await;
        }
    })
    .await;
    let options = UpstreamOptions::new().response_timeout(Duration::from_millis(50));
    let gateway = Running::proxy_with(address, options, ServeOptions::new()).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send(GET).await;
    client.until("begin").await;
    // Another request runs into the timeout, so that much time has passed for the first one.
    let silent = endpoint(|mut wire| async move {
        wire.rest().await;
    })
    .await;
    let options = UpstreamOptions::new().response_timeout(Duration::from_millis(60));
    error(silent, options).await;
    finish.send(()).unwrap();
    client.until("!").await;
}

#[tokio::test]
async fn connection_without_an_answer_is_closed() {
    assert_eq!(error_after("").await, UpstreamFault::Closed);
    assert_eq!(
        error_after("HTTP/1.1 200 OK\r\nX-Hal").await,
        UpstreamFault::Closed
    );
}

/// SEC-50.
#[tokio::test]
async fn nonsense_is_a_fault_of_the_endpoint() {
    for answer in [
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nab",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ] {
        assert_eq!(
            error_after(answer).await,
            UpstreamFault::Protocol,
            "{answer}"
        );
    }
}

/// SEC-40: the endpoint never gets the end of a body that was not well framed.
#[tokio::test]
async fn broken_chunks_are_the_clients_fault() {
    let (arrived, mut arrivals) = mpsc::unbounded_channel();
    let address = endpoint(move |mut wire| {
        let arrived = arrived.clone();
        async move {
            wire.head().await;
            wire.until("part").await;
            arrived.send(wire.rest().await).unwrap();
        }
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client
        .send(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n0x4\r\n",
        )
        .await;
    let rest = within("the end of the body", arrivals.recv())
        .await
        .unwrap();
    assert!(!rest.contains("0\r\n\r\n"), "ended as if whole: {rest}");
    let answer = client.rest().await;
    assert!(answer.is_empty() || answer.contains("Body"), "{answer}");
}

#[tokio::test]
async fn stale_pooled_connection_is_no_failure() {
    let (closed, mut closings) = mpsc::unbounded_channel();
    let address = endpoint(move |mut wire| {
        let closed = closed.clone();
        async move {
            wire.until("hi").await;
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n!!")
                .await;
            wire.finish().await;
            // The gateway closes, too: it has seen that its pooled connection is over.
            assert_eq!(wire.rest().await, "");
            closed.send(()).unwrap();
        }
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    for _ in 0..20 {
        client
            .send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi")
            .await;
        let answer = client.until("!!").await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        within("the gateway to close", closings.recv())
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn unused_connections_are_closed_without_another_request() {
    let (closed, mut closings) = mpsc::unbounded_channel();
    let address = endpoint(move |mut wire| {
        let closed = closed.clone();
        async move {
            wire.head().await;
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n!!")
                .await;
            wire.rest().await;
            closed.send(()).unwrap();
        }
    })
    .await;
    let options = UpstreamOptions::new().pool_idle_timeout(Duration::from_millis(50));
    let gateway = Running::proxy_with(address, options, ServeOptions::new()).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send(GET).await;
    client.until("!!").await;
    within("the pool to let go", closings.recv()).await.unwrap();
}

#[tokio::test]
async fn client_that_goes_away_ends_the_exchange() {
    let (seen, mut events) = mpsc::unbounded_channel();
    let address = endpoint(move |mut wire| {
        let seen = seen.clone();
        async move {
            wire.head().await;
            seen.send("asked").unwrap();
            wire.rest().await;
            seen.send("closed").unwrap();
        }
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send(GET).await;
    assert_eq!(within("the request", events.recv()).await, Some("asked"));
    drop(client);
    assert_eq!(within("the end", events.recv()).await, Some("closed"));
}
