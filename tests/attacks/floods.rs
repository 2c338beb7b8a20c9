//! SEC-45: more frames than HTTP/2 needs, written by hand.

use std::time::Duration;

use affinity_tests::http2::{Connection, Field, PREFACE, block, code, flag, frame, kind, request};
use affinity_tests::{BOUND, until};
use tokio::time::{Instant, timeout};

use super::support::{Site, get, talk};

const HEAD: [Field<'static>; 4] = [
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "shop.example"),
];

/// How many streams are opened; the full form by `AFFINITY_FAULTS=full`.
fn streams() -> usize {
    match std::env::var("AFFINITY_FAULTS").as_deref() {
        Ok("full") => 100_000,
        _ => 5_000,
    }
}

async fn open(site: &Site) -> Connection {
    let mut connection = Connection::open(site.address()).await;
    let settings = frame(kind::SETTINGS, flag::NONE, 0, &[]);
    connection.write(&[PREFACE, &settings].concat()).await;
    connection
}

/// So many pieces of one head are too many: a head of 16 KiB fits into one.
const PIECES: usize = 16;

/// Streams that we reset because of what the client sent; one more ends the connection.
const OWN_RESETS: usize = 1024;

/// Reads to the end; how many streams the other side reset, and the code that it gave for the end.
async fn goaway(connection: &mut Connection) -> (usize, Option<u32>) {
    let read = async {
        let (mut resets, mut told) = (0, None);
        while let Some(frame) = connection.next().await {
            match frame.kind {
                kind::RST_STREAM => resets += 1,
                kind::GOAWAY => told = frame.code(),
                _ => {}
            }
        }
        (resets, told)
    };
    timeout(BOUND, read)
        .await
        .expect("the connection ends in time")
}

async fn ended(site: &Site, cause: &str) -> f64 {
    let samples = site.admin().samples().await;
    samples.sum("affinity_connections_ended_total", &[("cause", cause)])
}

/// How long another client waits for the slowest of its answers, but for one in a hundred.
async fn p99(site: &Site) -> Duration {
    let mut took = Vec::new();
    for _ in 0..100 {
        let before = Instant::now();
        assert_eq!(talk(site.address(), get("")).await.status(), 200);
        took.push(before.elapsed());
    }
    took.sort();
    took[98]
}

/// Opens streams and resets them at once, over as many connections as it takes; how many there
/// were.
async fn reset(site: &Site, streams: usize) -> (usize, usize) {
    let cancel = code::CANCEL.to_be_bytes();
    let (mut opened, mut connections) = (0, 0);
    while opened < streams {
        connections += 1;
        let mut connection = open(site).await;
        let mut stream = 1;
        loop {
            let mut bytes = Vec::new();
            for _ in 0..50 {
                bytes.extend(request(stream, &HEAD));
                bytes.extend(frame(kind::RST_STREAM, flag::NONE, stream, &cancel));
                stream += 2;
            }
            opened += 50;
            if !connection.write(&bytes).await || opened >= streams {
                break;
            }
        }
    }
    (opened, connections)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sec_45_streams_that_are_reset_at_once_reach_nobody_and_end_the_connection() {
    let site = Site::start().await;
    let before = p99(&site).await;
    site.a.take();
    let (during, (opened, connections)) = tokio::join!(p99(&site), reset(&site, streams()));
    until("the flood to be told", async || {
        (ended(&site, "flood").await > 0.0).then_some(())
    })
    .await;
    let seen = site.a.take().len() - 100;
    assert!(
        seen * 100 <= opened,
        "{seen} of {opened} requests that were reset on {connections} connections were seen"
    );
    assert!(
        during <= before * 4 + Duration::from_millis(150),
        "p99 was {before:?} and is {during:?}"
    );
}

#[tokio::test]
async fn sec_45_errors_that_the_client_provokes_end_the_connection() {
    let site = Site::start().await;
    let mut connection = open(&site).await;
    let (mut stream, mut written) = (1_u32, true);
    // a window update of nothing makes us reset the stream ourselves
    while written && stream < 20_000 {
        let mut bytes = Vec::new();
        for _ in 0..50 {
            bytes.extend(request(stream, &HEAD));
            bytes.extend(frame(kind::WINDOW_UPDATE, flag::NONE, stream, &[0; 4]));
            stream += 2;
        }
        written = connection.write(&bytes).await;
    }
    let (resets, told) = goaway(&mut connection).await;
    assert!(
        told.is_none_or(|told| told != code::NO_ERROR),
        "ended in good order after {stream} streams"
    );
    assert!(stream < 20_000, "never ended");
    assert!(resets <= OWN_RESETS, "{resets} streams of one connection");
    let seen = site.a.take().len();
    assert!(seen <= OWN_RESETS, "{seen} requests at the endpoint");
    assert_eq!(talk(site.address(), get("")).await.status(), 200);
}

#[tokio::test]
async fn sec_45_a_head_without_an_end_ends_the_connection() {
    let site = Site::start().await;
    for piece in [&[][..], &block(&[("x-pad", &"x".repeat(100))])] {
        let mut connection = open(&site).await;
        let head = frame(kind::HEADERS, flag::END_STREAM, 1, &block(&HEAD));
        let more = frame(kind::CONTINUATION, flag::NONE, 1, piece).repeat(PIECES);
        // all of it is taken or the connection has ended; it never waits for more
        connection.write(&[head, more].concat()).await;
        let (_, told) = goaway(&mut connection).await;
        assert_ne!(told, Some(code::NO_ERROR), "ended in good order");
    }
    assert!(site.a.take().is_empty(), "it reached an endpoint");
    until("both ends to be told", async || {
        let floods = ended(&site, "flood").await;
        let rest = ended(&site, "malformed").await + ended(&site, "aborted").await;
        (floods + rest >= 2.0).then_some(())
    })
    .await;
}

/// Answers to them are not read, so they cannot pile up here either.
#[tokio::test]
async fn sec_45_pings_and_settings_that_nobody_reads_do_not_pile_up() {
    let site = Site::with(|config| "body_timeout = \"500ms\"".clone_into(&mut config.listen)).await;
    for flood in [
        frame(kind::PING, flag::NONE, 0, &[0; 8]),
        frame(kind::SETTINGS, flag::NONE, 0, &[]),
    ] {
        let mut connection = open(&site).await;
        let some = flood.repeat(1_000);
        let write = async {
            let mut frames = 0;
            // a few megabytes fit into the sockets; then nobody takes more, and we are left
            while connection.write(&some).await {
                frames += 1_000;
                assert!(frames < 10_000_000, "so many frames were taken");
            }
        };
        timeout(BOUND, write).await.expect("it is left in time");
    }
    // a client sees its end a moment before it is counted
    until("both ends to be counted", async || {
        let left = ended(&site, "write_timeout").await + ended(&site, "aborted").await;
        (left + ended(&site, "flood").await >= 2.0).then_some(())
    })
    .await;
    assert_eq!(talk(site.address(), get("")).await.status(), 200);
}
