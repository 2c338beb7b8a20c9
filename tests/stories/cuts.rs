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
