//! Aborts under load, at three gateways. F21: after a gateway has accepted the abort 0 decisions for
//! the group; at most one move per session; 99 of 100 aborts obeyed everywhere within one second.
//! F24: at most as many moves as aborts.

use std::time::Duration;

use affinity_tests::BOUND;
use affinity_tests::jar::Keeps;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{BAD, Cluster, Moves, OTHER, STABLE, Traffic};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abort_under_load_moves_each_session_once_over_all_gateways() {
    let Some(cluster) = Cluster::start(&[(STABLE, 40), (BAD, 40), (OTHER, 20)]).await else {
        return;
    };
    let addresses = cluster.addresses();
    let traffic = Traffic::start(&addresses, 400, 6, Keeps::LastArrival);
    traffic.more(1_500).await;
    let asked = &cluster.members[0];
    asked
        .admin()
        .verb(BAD, "abort", &json!({}))
        .await
        .accepted();
    let answered = traffic.history.moment();
    cluster.all_have(BAD, "aborted").await;
    let known = traffic.history.moment();
    traffic.more(2_000).await;
    let history = traffic.stop().await;

    let moves = Moves::of(&history, cluster.fleet.ledger());
    moves.assert_nobody_in(BAD, addresses[0], answered);
    for address in addresses {
        moves.assert_nobody_in(BAD, address, known);
    }
    let moved = moves.assert_at_most(1);
    assert!(moved > 100, "only {moved} sessions moved");
    let edges = moves.edges();
    let mut edges = edges.values().flatten();
    assert!(edges.all(|(from, to)| (from.as_str(), to.as_str()) == (BAD, STABLE)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_aborts_are_obeyed_by_all_gateways_within_a_second() {
    let Some(cluster) = Cluster::start(&[(STABLE, 50), (BAD, 50)]).await else {
        return;
    };
    let traffic = Traffic::start(&cluster.addresses(), 30, 3, Keeps::LastArrival);
    let mut spans = Vec::new();
    for round in 0..100 {
        let (asked, admin) = (round % 3, cluster.members[(round + 1) % 3].admin());
        if round > 0 {
            admin.verb(BAD, "restore", &json!({})).await.accepted();
            admin.weights(&json!({ BAD: 50 })).await.accepted();
        }
        cluster.all_have(BAD, "active").await;
        let admin = cluster.members[asked].admin();
        admin.verb(BAD, "abort", &json!({})).await.accepted();
        let answered = Instant::now();
        assert_eq!(cluster.members[asked].state(BAD), "aborted");
        let others = cluster.members.iter().enumerate();
        let mut waiting: Vec<_> = others.filter(|(at, _)| *at != asked).collect();
        while !waiting.is_empty() {
            waiting.retain(|(_, member)| {
                let obeys = member.state(BAD) == "aborted";
                if obeys {
                    spans.push(answered.elapsed());
                }
                !obeys
            });
            assert!(answered.elapsed() < BOUND, "it never came");
            sleep(Duration::from_millis(1)).await;
        }
    }
    let history = traffic.stop().await;
    spans.sort();
    let (median, p99) = (spans[spans.len() / 2], spans[spans.len() * 99 / 100]);
    println!(
        "from the answer to an abort until another gateway obeys it: median {median:?}, p99 {p99:?}"
    );
    assert!(p99 <= Duration::from_secs(1), "p99 {p99:?}");
    assert!(history.entries().iter().all(|entry| entry.status == 200));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_aborts_in_turn_move_a_session_at_most_twenty_times() {
    const ABORTS: usize = 20;
    let Some(cluster) = Cluster::start(&[(STABLE, 50), (BAD, 50)]).await else {
        return;
    };
    let traffic = Traffic::start(&cluster.addresses(), 30, 3, Keeps::LastArrival);
    for round in 0..ABORTS {
        let admin = cluster.members[round % 3].admin();
        let (bad, good) = if round % 2 == 0 {
            (BAD, STABLE)
        } else {
            (STABLE, BAD)
        };
        if round > 0 {
            admin.verb(good, "restore", &json!({})).await.accepted();
        }
        admin.verb(good, "promote", &json!({})).await.accepted();
        cluster.advance(Duration::from_secs(1));
        traffic.more(90).await;
        admin.verb(bad, "abort", &json!({})).await.accepted();
        cluster.advance(Duration::from_secs(1));
        cluster.all_have(bad, "aborted").await;
        traffic.more(90).await;
    }
    let history = traffic.stop().await;
    let moves = Moves::of(&history, cluster.fleet.ledger());
    let edges = moves.edges();
    let most = edges.values().map(Vec::len).max().unwrap_or_default();
    assert!(
        (ABORTS - 2..=ABORTS).contains(&most),
        "one moved {most} times"
    );
}
