//! Early hints of an endpoint, through the whole gateway.

use std::net::SocketAddr;

use affinity_tests::config::{COOKIE, Config};
use affinity_tests::http2::{Connection, PREFACE, flag, frame, kind, request, status};
use affinity_tests::raw::Raw;
use affinity_tests::replica::Replica;
use affinity_tests::{BOUND, Scratch};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

const OLD: &str = "9f1c2ab";

/// What an endpoint says ahead of its answer, with fields that no hint may have.
const HINT: &str = "HTTP/1.1 103 Early Hints\r\n\
                    link: </style.css>; rel=preload\r\n\
                    set-cookie: __Host-affinity-checkout=evil; Path=/; Secure\r\n\
                    affinity-session: end\r\n\r\n";
const PASSED: &str = "HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n";

/// An endpoint that hints before each answer.
async fn hinting() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut read = Vec::new();
                while stream
                    .read_buf(&mut read)
                    .await
                    .is_ok_and(|count| count > 0)
                {
                    if !read.ends_with(b"\r\n\r\n") {
                        continue;
                    }
                    read.clear();
                    let answer = format!("{HINT}HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone");
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn an_early_hint_passes_without_a_pin_and_the_answer_has_it() {
    let dir = Scratch::new();
    let config = Config::of([(OLD, 1, vec![hinting().await])]);
    let replica = Replica::start(&dir, &config).await;
    let mut raw = Raw::connect(replica.address()).await;
    let get = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    raw.write(get).await;
    assert_eq!(raw.read_to("\r\n\r\n").await, PASSED);
    let answer = raw.read_to("done").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let pin = answer.split(&format!("set-cookie: {COOKIE}=")).nth(1);
    let pin = pin.expect("a first answer sets a pin").split(';').next();
    // the next request of the session and of the connection
    let cookie = format!("cookie: {COOKIE}={}\r\n\r\n", pin.unwrap());
    raw.write(get.replacen("\r\n\r\n", &format!("\r\n{cookie}"), 1))
        .await;
    assert_eq!(raw.read_to("\r\n\r\n").await, PASSED);
    let answer = raw.read_to("done").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(!answer.contains("set-cookie"), "the pin is young: {answer}");
    let samples = replica.admin.samples().await;
    let hints = |outcome| {
        let outcome = [("outcome", outcome)];
        samples.sum("affinity_interim_answers_total", &outcome)
    };
    assert_eq!((hints("passed"), hints("dropped")), (2.0, 0.0));
    let pinned = samples.sum("affinity_requests_total", &[("decision", "pinned")]);
    assert_eq!(pinned, 1.0, "a hint changed the session");
}

/// It costs its clients nothing, and breaks nothing, that they do not get them.
#[tokio::test]
async fn a_client_on_http_2_gets_the_answer_alone() {
    let dir = Scratch::new();
    let config = Config::of([(OLD, 1, vec![hinting().await])]);
    let replica = Replica::start(&dir, &config).await;
    let mut connection = Connection::open(replica.address()).await;
    let fields = [
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "a"),
    ];
    let settings = frame(kind::SETTINGS, flag::NONE, 0, &[]);
    let begun = [PREFACE, &settings, &request(1, &fields)].concat();
    connection.write(&begun).await;
    let mut heads = Vec::new();
    loop {
        let next = timeout(BOUND, connection.next()).await;
        let frame = next.expect("an answer in time").expect("an answer");
        if frame.kind == kind::HEADERS {
            heads.push(status(&frame.payload));
        }
        if frame.stream == 1 && frame.ends_stream() {
            break;
        }
    }
    assert_eq!(heads, [Some(200)]);
}
