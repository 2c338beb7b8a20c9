//! SEC-46: clients that send or read too little, one by one.

use std::time::Duration;

use affinity_tests::http2::{Connection, PREFACE, block, flag, frame, kind, request};
use affinity_tests::{BOUND, until};
use tokio::time::{Instant, sleep, timeout};

use super::support::{Site, Talk, get, talk};

const SOON: &str =
    "header_timeout = \"500ms\"\nkeep_alive = \"500ms\"\nbody_timeout = \"500ms\"\nmax_body = 1000";
const HEAD: [(&str, &str); 4] = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "shop.example"),
];

async fn impatient() -> Site {
    Site::with(|config| SOON.clone_into(&mut config.listen)).await
}

async fn ended(site: &Site, cause: &str) -> f64 {
    let samples = site.admin().samples().await;
    samples.sum("affinity_connections_ended_total", &[("cause", cause)])
}

async fn reached(site: &Site, limit: &str) -> f64 {
    let samples = site.admin().samples().await;
    samples.sum("affinity_limits_reached_total", &[("limit", limit)])
}

/// The endpoint got the beginning of a request, and its connection ended.
async fn torn(site: &Site) -> Vec<u8> {
    until("the end of the endpoint's connection", async || {
        site.a.torn().pop()
    })
    .await
}

#[tokio::test]
async fn sec_46_a_head_that_comes_byte_by_byte_is_not_waited_for() {
    let site = impatient().await;
    let mut talk = Talk::open(site.address()).await;
    let before = Instant::now();
    for byte in get("x: y\r\n") {
        if !talk.write([byte]).await {
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    talk.end().await;
    assert!(before.elapsed() < Duration::from_secs(3));
    assert_eq!(site.a.take().len(), 0);
    until("the end to be counted", async || {
        (ended(&site, "header_timeout").await == 1.0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn sec_46_a_body_that_pauses_is_408_and_its_endpoint_is_free() {
    let site = impatient().await;
    for framing in ["content-length: 10", "transfer-encoding: chunked"] {
        let mut talk = Talk::open(site.address()).await;
        let head = format!("POST / HTTP/1.1\r\nhost: shop.example\r\n{framing}\r\n\r\n5\r\n12");
        talk.write(head).await;
        let reply = talk.end().await;
        assert_eq!(reply.status(), 408, "{}", reply.text());
        assert!(reply.text().contains("bad-request"), "{}", reply.text());
        let seen = torn(&site).await;
        assert!(seen.starts_with(b"POST / "), "{seen:?}");
    }
    assert_eq!(reached(&site, "body_timeout").await, 2.0);
    let samples = site.admin().samples().await;
    let told = samples.sum("affinity_requests_total", &[("code_class", "4xx")]);
    assert_eq!(told, 2.0, "requests that were not counted");
}

#[tokio::test]
async fn a_body_that_is_too_long_is_413_before_and_while_it_is_sent() {
    let site = impatient().await;
    let told = "POST / HTTP/1.1\r\nhost: shop.example\r\ncontent-length: 1001\r\n\r\n";
    let reply = talk(site.address(), told.to_owned() + &"x".repeat(1001)).await;
    assert_eq!(reply.status(), 413, "{}", reply.text());
    assert!(
        site.a.take().is_empty() && site.a.torn().is_empty(),
        "it was forwarded"
    );
    let chunk = format!("12c\r\n{}\r\n", "x".repeat(300));
    let head = "POST / HTTP/1.1\r\nhost: shop.example\r\ntransfer-encoding: chunked\r\n\r\n";
    let reply = talk(site.address(), head.to_owned() + &chunk.repeat(4)).await;
    assert_eq!(reply.status(), 413, "{}", reply.text());
    torn(&site).await;
    assert_eq!(reached(&site, "max_body").await, 2.0);
    // as long as it may be
    let last = "POST / HTTP/1.1\r\nhost: shop.example\r\nconnection: close\r\ncontent-length: 1000";
    let reply = talk(
        site.address(),
        format!("{last}\r\n\r\n{}", "x".repeat(1000)),
    )
    .await;
    assert_eq!(reply.status(), 200, "{}", reply.text());
}

/// Empty DATA frames are no progress.
#[tokio::test]
async fn sec_46_a_body_of_nothing_is_not_waited_for_on_http_2() {
    let site = impatient().await;
    let mut connection = Connection::open(site.address()).await;
    let settings = frame(kind::SETTINGS, flag::NONE, 0, &[]);
    let head = frame(kind::HEADERS, flag::END_HEADERS, 1, &block(&HEAD));
    connection
        .write(&[PREFACE, &settings, &head].concat())
        .await;
    let empty = frame(kind::DATA, flag::NONE, 1, &[]);
    let answered = async {
        loop {
            tokio::select! {
                frame = connection.next() => match frame {
                    Some(frame) if frame.kind == kind::HEADERS => return true,
                    Some(_) => {}
                    None => return false,
                },
                () = sleep(Duration::from_millis(50)) => {
                    connection.write(&empty).await;
                }
            }
        }
    };
    let answered = timeout(BOUND, answered).await.expect("it is left in time");
    assert!(answered, "the connection ended without an answer");
    assert_eq!(reached(&site, "body_timeout").await, 1.0);
}

#[tokio::test]
async fn sec_46_a_client_that_reads_nothing_is_left() {
    let site = impatient().await;
    // more than all buffers on the way
    let body = "x".repeat(32 * 1024 * 1024);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    site.a.answer(head + &body);
    let mut deaf = Talk::open(site.address()).await;
    deaf.write(get("")).await;
    until("its end", async || {
        (ended(&site, "write_timeout").await > 0.0).then_some(())
    })
    .await;
    until("the endpoint to be free", async || {
        let samples = site.admin().samples().await;
        (samples.sum("affinity_requests_in_flight", &[]) == 0.0).then_some(())
    })
    .await;
    drop(deaf);
}

#[tokio::test]
async fn sec_46_a_window_that_is_never_opened_resets_the_stream() {
    let site = impatient().await;
    let mut connection = Connection::open(site.address()).await;
    // SETTINGS_INITIAL_WINDOW_SIZE = 0
    let settings = frame(kind::SETTINGS, flag::NONE, 0, &[0, 4, 0, 0, 0, 0]);
    let mut head = HEAD;
    head[0] = (":method", "GET");
    connection
        .write(&[PREFACE, &settings, &request(1, &head)].concat())
        .await;
    let reset = async {
        while let Some(frame) = connection.next().await {
            if frame.kind == kind::RST_STREAM {
                return true;
            }
        }
        false
    };
    let reset = timeout(BOUND, reset).await.expect("it is left in time");
    assert!(reset, "the connection ended, and not the stream alone");
    assert_eq!(reached(&site, "write_timeout").await, 1.0);
    // the connection lives on
    let window = [0, 4, 0, 0, 255, 255];
    let more = [
        frame(kind::SETTINGS, flag::NONE, 0, &window),
        request(3, &head),
    ];
    connection.write(&more.concat()).await;
    let whole = async {
        while let Some(frame) = connection.next().await {
            if frame.stream == 3 && frame.ends_stream() {
                return true;
            }
        }
        false
    };
    assert!(
        timeout(BOUND, whole)
            .await
            .expect("an answer comes in time")
    );
}
