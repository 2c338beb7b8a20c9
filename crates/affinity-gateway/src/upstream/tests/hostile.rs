//! Endpoints that answer early, badly or not to the end, and what the client gets of it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::BodyExt;
use tokio::sync::mpsc;

use super::peers::{client, get};
use crate::serve::ServeOptions;
use crate::upstream::UpstreamOptions;
use crate::wire::{Running, Wire, endpoint, eventually as until, within};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Answers each first request of a connection with `answer`, and tells of each connection's end.
async fn answering(
    answer: impl Into<String>,
    finishes: bool,
) -> (SocketAddr, mpsc::UnboundedReceiver<()>) {
    let (closed, closings) = mpsc::unbounded_channel();
    let answer = answer.into();
    let address = endpoint(move |mut wire| {
        let (closed, answer) = (closed.clone(), answer.clone());
        async move {
            wire.head().await;
            wire.try_send(&answer).await;
            if finishes {
                wire.finish().await;
            }
            wire.rest().await;
            // a test that has ended listens no more
            closed.send(()).ok();
        }
    })
    .await;
    (address, closings)
}

/// SEC-44: the client gets the answer, and the rest of its body is nobody's next request.
#[tokio::test]
async fn an_early_answer_ends_the_endpoints_connection() {
    let (heads, mut seen) = mpsc::unbounded_channel();
    let address = endpoint(move |mut wire| {
        let heads = heads.clone();
        async move {
            heads.send(wire.head().await).unwrap();
            wire.until(&"x".repeat(1024)).await;
            wire.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nbig!")
                .await;
            let rest = wire.rest().await;
            assert!(!rest.contains("HTTP/1.1"), "another request: {rest}");
            heads.send("closed".to_owned()).unwrap();
        }
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client
        .send("POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n")
        .await;
    client.send("x".repeat(1024)).await;
    let answer = client.until("big!").await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let head = within("the request", seen.recv()).await.unwrap();
    assert!(head.starts_with("POST /up "), "{head}");
    let mut other = Wire::connect(gateway.address).await;
    other.send(GET).await;
    let mut next = vec![
        within("the close", seen.recv()).await.unwrap(),
        within("the next request", seen.recv()).await.unwrap(),
    ];
    next.sort_by_key(|event| event != "closed");
    assert_eq!(next[0], "closed", "{next:?}");
    assert!(next[1].starts_with("GET / "), "{next:?}");
}

/// SEC-50.
#[tokio::test]
async fn an_answer_that_is_none_is_a_502_on_a_clean_connection() {
    let many = |lines: usize| "X-Line: something\r\n".repeat(lines);
    let bad = [
        "HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: b\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            .to_owned(),
        format!("HTTP/1.1 200 OK\r\n{}\r\n", many(200)),
        format!("HTTP/1.1 200 OK\r\n{}", many(100_000)),
        format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(2_000_000)),
    ];
    for answer in bad {
        let shown: String = answer.chars().take(60).collect();
        let (address, mut closings) = answering(answer, false).await;
        let gateway = Running::proxy(address).await;
        let mut client = Wire::connect(gateway.address).await;
        // twice: the connection of the client is as good as before
        for _ in 0..2 {
            client.send(GET).await;
            let answer = client.until("Protocol").await;
            assert!(answer.starts_with("HTTP/1.1 502 "), "{shown:?}: {answer}");
            within("the endpoint's connection to close", closings.recv())
                .await
                .unwrap();
        }
    }
}

/// SEC-50: interim answers without an end cost no more memory, and end with the time for the head.
#[tokio::test]
async fn a_flood_of_interim_answers_is_not_waited_out() {
    let address = endpoint(|mut wire| async move {
        wire.head().await;
        while wire
            .try_send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            .await
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let options = UpstreamOptions::new().response_timeout(Duration::from_millis(200));
    let options = (options, ServeOptions::new());
    let gateway = Running::proxy_with(address, options.0, options.1).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send(GET).await;
    let answer = client.until("Timeout").await;
    // a few pass
    let answer = answer.replace("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", "");
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

/// SEC-50: trailers without an end.
#[tokio::test]
async fn endless_trailers_break_the_answer_off() {
    let trailers = "X-Line: something\r\n".repeat(100_000);
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n";
    let (address, mut closings) = answering(format!("{head}{trailers}"), false).await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send(GET).await;
    let answer = client.rest().await;
    assert!(answer.contains("four"), "{answer}");
    assert!(!answer.contains("0\r\n"), "ended as if whole: {answer}");
    within("the endpoint's connection to close", closings.recv())
        .await
        .unwrap();
}

/// F08: of bodies that are cut after any number of bytes, none looks whole.
#[tokio::test]
async fn a_body_that_is_cut_is_never_a_short_one_that_looks_whole() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n01234567\r\n8\r\n89abcdef\r\n0\r\n\r\n";
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n0123456789abcdef";
    for whole in [chunked, length] {
        let head = whole.find("\r\n\r\n").unwrap() + 4;
        for cut in head..whole.len() {
            let (address, _closings) = answering(&whole[..cut], true).await;
            let gateway = Running::proxy(address).await;
            let mut wire = Wire::connect(gateway.address).await;
            wire.send(GET).await;
            let answer = wire.rest().await;
            let complete = answer.contains("0\r\n\r\n") || answer.contains("0123456789abcdef");
            assert!(
                !complete || answer.starts_with("HTTP/1.1 502 "),
                "{cut}: {answer}"
            );

            let mut client = client(&gateway).await;
            // a reset may overtake the head
            let Ok(answer) = within("the head", client.send_request(get("/"))).await else {
                continue;
            };
            if answer.status() == 200 {
                let body = within("the end", answer.into_body().collect()).await;
                assert!(body.is_err(), "{cut}: whole over HTTP/2: {body:?}");
            }
        }
    }
}

/// SEC-43: the client is asked for its body by us, and the endpoint never hears of it.
#[tokio::test]
async fn an_expectation_ends_here_and_leaves_one_request() {
    for (expect, body) in [
        ("100-continue", "five!"),
        ("y 100-continue", "five!"),
        ("100-continue, 100-continue", "five!"),
    ] {
        let (heads, mut seen) = mpsc::unbounded_channel();
        let address = endpoint(move |mut wire| {
            let heads = heads.clone();
            async move {
                let head = wire.head().await;
                heads.send(head).unwrap();
                wire.until("five!").await;
                wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n!!")
                    .await;
                heads.send(wire.rest().await).unwrap();
            }
        })
        .await;
        let gateway = Running::proxy(address).await;
        let mut client = Wire::connect(gateway.address).await;
        let head =
            format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: {expect}\r\n\r\n");
        client.send(head).await;
        client.send(body).await;
        client.until("!!").await;
        drop(client);
        let head = within("the request", seen.recv()).await.unwrap();
        assert!(!head.contains("expect"), "{head}");
        assert_eq!(head.matches("HTTP/1.1").count(), 1, "{head}");
    }
}

/// Its connection would otherwise wait to write for as long as the endpoint likes: the answer is over,
/// and nobody waits for the upload any more.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_endpoint_that_answers_and_then_takes_nothing_is_left() {
    const LENGTH: usize = 64 << 20;
    let (stall, mut stalls) = mpsc::unbounded_channel();
    let address = endpoint(move |mut wire| {
        let stall = stall.clone();
        async move {
            wire.head().await;
            // it never reads the body, and answers once there is no way for more of it
            let port = wire.address().port();
            until("the upload to stall", || stalled(port)).await;
            stall.send(()).unwrap();
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                .await;
            std::future::pending::<()>().await;
        }
    })
    .await;
    let options = UpstreamOptions::new().stalled_after(Duration::from_millis(300));
    let gateway = Running::proxy_with(address, options, ServeOptions::new()).await;
    let mut client = Wire::connect(gateway.address).await;
    client
        .send(format!(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {LENGTH}\r\n\r\n"
        ))
        .await;
    let upload = async {
        let piece = vec![b'x'; 1 << 20];
        while client.try_send(&piece).await {}
        std::future::pending::<()>().await;
    };
    let left = async {
        within("the upload to stall", stalls.recv()).await.unwrap();
        until("the end of the connection", || !connected(address.port())).await;
    };
    tokio::select! {
        () = left => {}
        () = upload => unreachable!(),
    }
}

/// The connections of this machine to that port, as the kernel lists them: what waits to be sent.
fn to_port(port: u16) -> Vec<u32> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let remote = format!(":{port:04X}");
    let fields = table.lines().map(|line| line.split_whitespace().collect());
    fields
        .filter(|fields: &Vec<&str>| fields[2].ends_with(&remote) && fields[3] == "01")
        .map(|fields| u32::from_str_radix(&fields[4][..8], 16).unwrap())
        .collect()
}

fn connected(port: u16) -> bool {
    !to_port(port).is_empty()
}

fn stalled(port: u16) -> bool {
    to_port(port).iter().any(|waiting| *waiting > 100_000)
}
