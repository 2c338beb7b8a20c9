//! SEC-26 and SEC-27: heads that are large, or stand for much, on many connections at once.

use std::time::Duration;

use affinity_tests::http2::{PREFACE, block, flag, frame, indexed, kind, literal};
use affinity_tests::load::Ask;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::exhaustion::tell;
use crate::stage::{Stage, UPSTREAM};

/// What one head may have by default.
const HEAD_BYTES: usize = 64 * 1024;
/// What a bomb of HTTP/2 may hold.
const H2_BYTES: usize = 1 << 20;

/// A head of HTTP/1.1 just below the limit, without its end.
fn long() -> Vec<u8> {
    let head = b"GET /bomb HTTP/1.1\r\nhost: a\r\ncookie: bomb=";
    [head, &*vec![b'x'; HEAD_BYTES - 1024]].concat()
}

/// A head of HTTP/2 without its end: an entry of 4 KiB, and references up to the library's limit.
fn packed() -> Vec<u8> {
    let mut fields = block(&[(":method", "GET"), (":scheme", "http"), (":path", "/bomb")]);
    fields.extend(literal(0x40, "x-bomb", &"x".repeat(4_000)));
    fields.extend(indexed(62).repeat(14));
    let head = frame(kind::HEADERS, flag::END_STREAM, 1, &fields);
    [PREFACE, &frame(kind::SETTINGS, flag::NONE, 0, &[]), &head].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sec_26_heads_that_are_bombs_hold_no_more_than_twice_their_limit() {
    let stage = Stage::with_files(20_000, |config| {
        config.sections = UPSTREAM.to_owned();
        config.listen = "header_timeout = \"60s\"".to_owned();
    })
    .await;
    let load = stage.sessions().await;
    let (count, phase) = (stage.scale.clients(2_000), stage.scale.phase(1.5));
    for (what, bomb, most) in [
        ("heads of 63 KiB", long(), 2 * HEAD_BYTES),
        ("entries of 4 KiB", packed(), H2_BYTES),
    ] {
        let running = load.open(stage.scale.rate, &[Ask::get("/step")]);
        let begun = Instant::now();
        sleep(phase).await;
        let (attacked, memory) = (Instant::now(), stage.process().memory());
        let mut held = Vec::new();
        for _ in 0..count {
            let mut stream = TcpStream::connect(stage.address()).await.expect("a place");
            stream.write_all(&bomb).await.expect("it is taken");
            held.push(stream);
            sleep(phase / count as u32).await;
        }
        // all of it is read by then
        sleep(Duration::from_secs(1)).await;
        let grown = stage.process().memory().saturating_sub(memory);
        let until = Instant::now();
        let shots = running.stop().await;
        drop(held);
        let each = grown / count;
        let (before, during) = (
            shots.sent(begun..attacked).quantile(0.99),
            shots.sent(attacked..until).quantile(0.99),
        );
        tell(&format!(
            "bombs: {count} {what}: {} KiB more for each, p99 {before:.1?} before and {during:.1?}",
            each / 1024
        ));
        assert_eq!(
            shots.faults(),
            Default::default(),
            "good clients were harmed by {what}"
        );
        assert!(each <= most, "{each} bytes for each of {count} {what}");
        assert!(
            during <= stage.scale.tolerated(before),
            "p99 was {before:?} and is {during:?}: {what}"
        );
    }
    let lines = stage.lines();
    assert!(
        lines.iter().all(|line| line.path != "/bomb"),
        "half a head reached a pod"
    );
}
