//! What is open when a group is aborted ends in the configured time, one after another.

use std::net::SocketAddr;
use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::raw::Raw;
use affinity_tests::replica::Replica;
use affinity_tests::{BOUND, Scratch, until};
use serde_json::json;
use tokio::time::{Instant, timeout};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

/// An event stream of a session, after its first event.
async fn events(to: SocketAddr, cookie: &str) -> Raw {
    let mut raw = Raw::connect(to).await;
    raw.write(format!(
        "GET /events HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
    ))
    .await;
    raw.read_to("data:").await;
    raw
}

#[tokio::test]
async fn open_streams_of_an_aborted_group_end_evenly_and_those_of_others_go_on() {
    const STREAMS: usize = 20;
    let fleet = Fleet::start(&[OLD, NEW], 2).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]);
    config.sections = "[rollback]\nstreams = \"2s\"\n".to_owned();
    let replica = Replica::start(&dir, &config).await;
    let history = History::default();
    let (mut cut, mut kept) = (Vec::new(), Vec::new());
    let mut clients = 0..;
    while cut.len() < STREAMS {
        let mut client = Client::new(clients.next().unwrap(), &history);
        let group = client
            .get(replica.address(), "/")
            .await
            .group()
            .map(str::to_owned);
        let cookie = client.jar.header().expect("a session has a cookie");
        let stream = events(replica.address(), &cookie).await;
        if group.as_deref() == Some(NEW) {
            cut.push(stream)
        } else {
            kept.push(stream)
        }
    }
    let aborted = Instant::now();
    replica
        .admin
        .verb(NEW, "abort", &json!({}))
        .await
        .accepted();
    let ends = cut.into_iter().map(|stream| async move {
        let rest = stream.read_all().await;
        assert!(
            !rest.contains("\r\n0\r\n"),
            "a cut stream looks whole: {rest}"
        );
        aborted.elapsed()
    });
    let ends = timeout(BOUND, futures_util::future::join_all(ends)).await;
    let mut ends = ends.expect("the streams of an aborted group never ended");
    ends.sort();
    let (first, last) = (ends[0], ends[STREAMS - 1]);
    assert!(
        last < Duration::from_secs(4),
        "the last one ended after {last:?}"
    );
    let half = ends[STREAMS / 2] - first;
    assert!(
        (Duration::from_millis(700)..Duration::from_millis(1700)).contains(&half),
        "half of the streams ended within {half:?} of two seconds: {ends:?}"
    );
    let samples = replica.admin.samples().await;
    let counted = [("group", NEW), ("cause", "aborted")];
    assert_eq!(
        samples.sum("affinity_streams_cut_total", &counted),
        STREAMS as f64
    );
    let class = [("group", NEW), ("code_class", "cut")];
    assert_eq!(
        samples.sum("affinity_requests_total", &class),
        STREAMS as f64
    );

    fleet.release();
    for stream in kept {
        let rest = timeout(BOUND, stream.read_all())
            .await
            .expect("a kept stream ends");
        assert!(
            rest.contains("\r\n0\r\n"),
            "a stream of another group was cut: {rest}"
        );
    }
    until("nothing in flight", async || {
        (replica.admin.group(NEW).await["in_flight"] == 0).then_some(())
    })
    .await;
}

/// A WebSocket of a session, after its first message.
async fn socket(to: SocketAddr, cookie: &str, group: &str) -> Raw {
    let mut raw = Raw::connect(to).await;
    raw.write(format!(
        "GET /ws HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\nConnection: Upgrade\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    ))
    .await;
    raw.read_to("101 ").await;
    raw.read_to(group).await;
    raw
}

/// How many of the times lie in each of the seconds.
fn per_second(times: &[Duration], seconds: u64) -> Vec<usize> {
    let counts = (0..seconds).map(|second| {
        let within = times.iter().filter(|time| time.as_secs() == second);
        within.count()
    });
    counts.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_cuts_are_spread_so_that_the_clients_come_back_one_after_another() {
    const STREAMS: usize = 200;
    const SECONDS: u64 = 10;
    const EACH: usize = STREAMS / SECONDS as usize;
    let fleet = Fleet::start(&[OLD, NEW], 2).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 0), (NEW, 1)]);
    config.sections = format!("[rollback]\nstreams = \"{SECONDS}s\"\n");
    let replica = Replica::start(&dir, &config).await;
    let (history, to) = (History::default(), replica.address());
    let mut open = Vec::new();
    for number in 0..STREAMS as u64 {
        let mut client = Client::new(number, &history);
        client.get(to, "/").await;
        let cookie = client.jar.header().expect("a session has a cookie");
        let raw = match number % 2 {
            0 => events(to, &cookie).await,
            _ => socket(to, &cookie, NEW).await,
        };
        open.push((raw, cookie));
    }
    replica
        .admin
        .verb(NEW, "abort", &json!({}))
        .await
        .accepted();
    let aborted = Instant::now();
    let ends = open.into_iter().map(|(raw, cookie)| {
        tokio::spawn(async move {
            raw.read_all().await;
            let cut = aborted.elapsed();
            let back = events(to, &cookie).await;
            (cut, aborted.elapsed(), back)
        })
    });
    let ends = timeout(BOUND, futures_util::future::join_all(ends)).await;
    let ends = ends.expect("all end in time").into_iter();
    let ends: Vec<_> = ends.map(|end| end.expect("a client comes back")).collect();
    let cuts: Vec<_> = ends.iter().map(|(cut, _, _)| *cut).collect();
    let returns: Vec<_> = ends.iter().map(|(_, back, _)| *back).collect();
    let (cuts, returns) = (per_second(&cuts, SECONDS), per_second(&returns, SECONDS));
    println!("cut in each second {cuts:?}, back in each second {returns:?}");
    // a tenth more or less, and what a busy machine pushes over the border of a second
    let even = EACH * 8 / 10..=EACH * 12 / 10;
    assert!(cuts.iter().all(|count| even.contains(count)), "{cuts:?}");
    assert!(
        returns.iter().all(|count| *count <= 2 * EACH),
        "{returns:?}"
    );
    let samples = replica.admin.samples().await;
    let counted = [("group", NEW), ("cause", "aborted")];
    assert_eq!(
        samples.sum("affinity_streams_cut_total", &counted),
        STREAMS as f64
    );
}
