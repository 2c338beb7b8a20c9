//! Sessions keep their group whatever the weights do, and new ones follow the weights.

use std::collections::BTreeSet;
use std::sync::Arc;

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use affinity_tests::{LOAD_BOUND, Scratch, until_within};
use serde_json::json;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

const WORKERS: usize = 8;
const CLIENTS: usize = 125;
const REQUESTS: usize = 50;
/// All clients of all workers.
const SESSIONS: usize = WORKERS * CLIENTS;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_see_exactly_one_group_each() {
    let fleet = Fleet::start(&[OLD, NEW], 3).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 90), (NEW, 10)])).await;
    let (history, address) = (History::default(), replica.address());

    let begun = Arc::new(Barrier::new(WORKERS + 1));
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let (history, begun) = (history.clone(), Arc::clone(&begun));
        workers.spawn(async move {
            let number = |client| (worker * CLIENTS + client) as u64;
            let mut clients: Vec<_> = (0..CLIENTS)
                .map(|client| Client::new(number(client), &history))
                .collect();
            for round in 0..REQUESTS {
                for client in &mut clients {
                    client.get(address, "/step").await;
                }
                if round == 0 {
                    begun.wait().await;
                }
            }
        });
    }

    // every session has begun at 90/10; now the weights change under the running load
    begun.wait().await;
    let drawn: Vec<_> = history
        .by_client()
        .into_values()
        .map(|e| e[0].clone())
        .collect();
    for (share, weights) in [
        (2, json!({ NEW: 0 })),
        (4, json!({ OLD: 0, NEW: 100 })),
        (6, json!({ OLD: 100, NEW: 0 })),
    ] {
        let reached = share * SESSIONS * REQUESTS / 8;
        until_within(LOAD_BOUND, "more requests", async || {
            (fleet.ledger().len() >= reached).then_some(())
        })
        .await;
        replica.admin.weights(&weights).await.accepted();
        let expected = if weights[NEW] == 100 { NEW } else { OLD };
        // sessions that begin now; weight 0 means exactly none
        for number in 0..20 {
            let mut stranger = Client::new((share * SESSIONS + number) as u64, &history);
            let group = stranger
                .get(address, "/first")
                .await
                .group()
                .map(str::to_owned);
            assert_eq!(group.as_deref(), Some(expected), "drawn against {weights}");
        }
    }
    while let Some(worker) = workers.join_next().await {
        worker.expect("a worker finishes");
    }

    let mut clients = history.by_client();
    clients.retain(|number, _| *number < SESSIONS as u64);
    assert_eq!(clients.len(), SESSIONS);
    for (client, entries) in &clients {
        assert_eq!(entries.len(), REQUESTS, "client {client}");
        let groups: BTreeSet<_> = entries.iter().map(|entry| entry.group.as_deref()).collect();
        assert_eq!(groups.len(), 1, "client {client} saw {groups:?}");
        let refused = entries.iter().find(|entry| entry.status != 200);
        assert!(refused.is_none(), "client {client}: {refused:?}");
        let set = entries.iter().filter(|entry| entry.set_cookie).count();
        assert_eq!(set, 1, "client {client} was sent its pin more than once");
    }
    let new = drawn
        .iter()
        .filter(|entry| entry.group.as_deref() == Some(NEW))
        .count();
    assert_share(new, drawn.len(), 0.1);

    let moved = fleet.ledger().entries();
    let moved = moved
        .iter()
        .find(|execution| execution.decision().starts_with("moved"));
    assert!(
        moved.is_none(),
        "moved while only weights changed: {moved:?}"
    );
    let samples = replica.admin.samples().await;
    assert_eq!(samples.sum("affinity_moves_total", &[]), 0.0);
    assert_eq!(
        samples.sum("affinity_requests_total", &[]),
        fleet.ledger().len() as f64
    );
    let served: BTreeSet<_> = fleet
        .ledger()
        .entries()
        .iter()
        .map(|execution| execution.endpoint.to_string())
        .collect();
    assert_eq!(served.len(), 6, "an endpoint was never used: {served:?}");

    history.balances(fleet.ledger());
}

/// A share of `n` draws is within 3.3 standard deviations of what it should be.
fn assert_share(hits: usize, n: usize, expected: f64) {
    let share = hits as f64 / n as f64;
    let bound = 3.3 * (expected * (1.0 - expected) / n as f64).sqrt();
    let off = (share - expected).abs();
    assert!(
        off <= bound,
        "{hits} of {n} is {off:.4} off {expected}, more than {bound:.4}"
    );
}
