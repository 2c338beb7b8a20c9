//! Interim answers of endpoints: which come through, and that they never get into an answer.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::BodyExt;
use tokio::sync::Semaphore;

use super::peers::{client, get};
use crate::{
    serve::{ConnectionEvent, ServeOptions},
    upstream::UpstreamOptions,
    wire::{Running, Wire, endpoint, within},
};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HINT: &str = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
/// As it goes on: names in lower case.
const PASSED: &str = "HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";

/// An endpoint that answers every request on its connections with the same bytes.
async fn answering(answer: impl Into<String>) -> SocketAddr {
    let answer = answer.into();
    endpoint(move |mut wire| {
        let answer = answer.clone();
        async move {
            while wire.try_head().await.is_some() {
                wire.try_send(&answer).await;
            }
        }
    })
    .await
}

/// What a client gets for one request, to the end of the answer's body.
async fn got(answer: impl Into<String>, request: &str) -> String {
    let gateway = Running::proxy(answering(answer).await).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send(request).await;
    client.until("done").await
}

/// Splits the interim answers, each with its empty line, from the answer.
fn split(answer: &str) -> (Vec<&str>, &str) {
    let (mut interim, mut rest) = (Vec::new(), answer);
    while rest.starts_with("HTTP/1.1 1") {
        let (one, more) = rest.split_at(rest.find("\r\n\r\n").unwrap() + 4);
        interim.push(one);
        rest = more;
    }
    (interim, rest)
}

#[tokio::test]
async fn a_hint_is_there_before_its_answer() {
    let goes_on = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&goes_on);
    let address = endpoint(move |mut wire| {
        let waits = Arc::clone(&waits);
        async move {
            wire.head().await;
            wire.send(HINT).await;
            drop(waits.acquire().await);
            wire.send(OK).await;
            wire.rest().await;
        }
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send(GET).await;
    assert_eq!(client.head().await, PASSED);
    goes_on.add_permits(1);
    let answer = client.until("done").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn hints_that_come_along_with_their_answer_stay_ahead_of_it() {
    let answer = got(format!("{HINT}{HINT}{OK}"), GET).await;
    let (hints, answer) = split(&answer);
    assert_eq!(hints, [PASSED, PASSED]);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn every_interim_answer_passes_but_100() {
    let processing = "HTTP/1.1 102 Processing\r\n\r\n";
    let unknown = "HTTP/1.1 199 Whatever It Is\r\nX-A: 1\r\n\r\n";
    let asks = "HTTP/1.1 100 Continue\r\n\r\n";
    let answer = got(format!("{asks}{processing}{unknown}{asks}{OK}"), GET).await;
    let (interim, answer) = split(&answer);
    assert_eq!(interim, [processing, "HTTP/1.1 199 \r\nx-a: 1\r\n\r\n"]);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// SEC-50: an endpoint that has no end of them.
#[tokio::test]
async fn of_very_many_hints_eight_pass_and_all_are_counted() {
    let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let told = Arc::clone(&counts);
    let options = ServeOptions::new().connections(move |event: ConnectionEvent| {
        if let ConnectionEvent::Interim { passed } = event {
            told[usize::from(passed)].fetch_add(1, Ordering::Relaxed);
        }
    });
    let address = answering(HINT.repeat(1000) + OK).await;
    let gateway = Running::proxy_with(address, UpstreamOptions::new(), options).await;
    let mut client = Wire::connect(gateway.address).await;
    for round in 1..=2 {
        client.send(GET).await;
        let answer = client.until("done").await;
        let (hints, answer) = split(&answer);
        assert_eq!(hints, [PASSED; 8], "of request {round}");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        let counted = |at: usize| counts[at].load(Ordering::Relaxed);
        assert_eq!((counted(1), counted(0)), (8 * round, 992 * round));
    }
}

#[tokio::test]
async fn a_hint_that_is_too_large_is_left_out() {
    let large = format!(
        "HTTP/1.1 103 Early Hints\r\nLink: {}\r\n\r\n",
        "x".repeat(9_000)
    );
    let answer = got(format!("{large}{large}{HINT}{OK}"), GET).await;
    let (hints, answer) = split(&answer);
    let lengths: Vec<_> = hints.iter().map(|hint| hint.len()).collect();
    assert_eq!(lengths, [large.len()], "16 KiB of one request");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// SEC-38, SEC-51: no pin, no name of ours, nothing that frames a message or belongs to one
/// connection.
#[tokio::test]
async fn a_hint_says_nothing_that_only_an_answer_may() {
    let fields = [
        "Link: </a.css>",
        "Set-Cookie: __Host-affinity-checkout=evil; Path=/; Secure",
        "Set-Cookie: a=1",
        "Affinity-Pin: evil",
        "affinity-group: evil",
        "affinity_group: evil",
        "Connection: close, x-secret",
        "X-Secret: evil",
        "Keep-Alive: timeout=evil",
        "Upgrade: evil",
        "Proxy-Authenticate: evil",
        "Content-Length: 666",
        "Trailer: evil",
        "Link: </b.css>",
    ];
    let hint = format!(
        "HTTP/1.1 103 Early Hints\r\n{}\r\n\r\n",
        fields.join("\r\n")
    );
    let answer = got(format!("{hint}{OK}"), GET).await;
    let (hints, answer) = split(&answer);
    let passed = "HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\nlink: </b.css>\r\n\r\n";
    assert_eq!(hints, [passed]);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// SEC-50: response splitting.
#[tokio::test]
async fn a_hint_that_is_no_head_breaks_the_exchange_and_is_not_passed_on() {
    for field in [
        "Link: a\rHTTP/1.1 200 OK",
        "Link: a\0",
        "Link a",
        "Li\rnk: a",
        "Link: a\r\n folded",
        "Link: a\r\n\r\nHTTP/1.1 103 x\rSet-Cookie: a=1",
    ] {
        let bad = format!("HTTP/1.1 103 Early Hints\r\n{field}\r\n\r\n{OK}");
        let gateway = Running::proxy(answering(bad).await).await;
        let mut client = Wire::connect(gateway.address).await;
        client.send(GET).await;
        let answer = client.until("Protocol").await;
        let (hints, answer) = split(&answer);
        assert!(answer.starts_with("HTTP/1.1 502 "), "{field:?}: {answer}");
        for hint in hints {
            assert_eq!(
                hint, "HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n",
                "{field:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_hint_whose_endpoint_breaks_off_is_followed_by_our_answer() {
    let address = endpoint(|mut wire| async move {
        wire.head().await;
        wire.send(HINT).await;
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send(GET).await;
    let answer = client.until("Closed").await;
    let (hints, answer) = split(&answer);
    assert_eq!(hints, [PASSED]);
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

#[tokio::test]
async fn clients_that_know_no_hints_get_none() {
    // RFC 9110, section 15.2
    let old = "GET / HTTP/1.0\r\nHost: a\r\n\r\n";
    let answer = got(format!("{HINT}{OK}"), old).await;
    assert!(answer.starts_with("HTTP/1.0 200 "), "{answer}");
    let gateway = Running::proxy(answering(format!("{HINT}{OK}")).await).await;
    let mut client = client(&gateway).await;
    let answer = within("the head", client.send_request(get("/")))
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "done");
}

/// A hint belongs to one request, also where all come at once.
#[tokio::test]
async fn of_requests_in_a_row_each_gets_its_own_hints() {
    let address = endpoint(|mut wire| async move {
        while let Some(head) = wire.try_head().await {
            let path = head.split(' ').nth(1).unwrap().to_owned();
            let hint = HINT.replace("/a.css", &path);
            let body = format!("{path} is done");
            let length = body.len();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
            wire.send(match path.starts_with("/hint") {
                true => hint + &answer,
                false => answer,
            })
            .await;
        }
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    let paths = ["/plain1", "/hint2", "/hint3", "/plain4"];
    client
        .send(
            paths
                .map(|path| GET.replace("/ ", &format!("{path} ")))
                .concat(),
        )
        .await;
    for path in paths {
        let answer = client.until("done").await;
        let (hints, answer) = split(&answer);
        let own = PASSED.replace("/a.css", path);
        match path.starts_with("/hint") {
            true => assert_eq!(hints, [own]),
            false => assert!(hints.is_empty(), "{path}: {hints:?}"),
        }
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.ends_with(&format!("{path} is done")), "{answer}");
    }
}

/// What comes behind an answer is no hint for the next one.
#[tokio::test]
async fn a_hint_behind_an_answer_reaches_nobody() {
    let gateway = Running::proxy(answering(format!("{OK}{HINT}")).await).await;
    let mut client = Wire::connect(gateway.address).await;
    for _ in 0..5 {
        client.send(GET).await;
        let answer = client.until("done").await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    assert!(!client.has_answer().await, "something comes behind");
}
