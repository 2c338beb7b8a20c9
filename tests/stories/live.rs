//! How many sessions live in each group, and what an abort moves of them.

use affinity_tests::Scratch;
use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use serde_json::json;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

const CONFIRMED: &str = "affinity_sessions_confirmed_total";
const LIVE: &str = "affinity_sessions_live";
const MOVED: &str = "affinity_sessions_moved_total";

/// Whether a count is as near as it is promised to be.
fn is_near(count: f64, expected: usize) -> bool {
    let expected = expected as f64;
    (count - expected).abs() <= (expected * 0.05).max(1.0)
}

#[tokio::test]
async fn sessions_that_return_their_pin_are_live_where_they_are_served() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1), (NEW, 1)])).await;
    let history = History::default();
    let mut clients: Vec<_> = (0..120).map(|nth| Client::new(nth, &history)).collect();
    let mut on_new = 0;
    for client in &mut clients {
        let answer = client.get(replica.address(), "/").await;
        on_new += usize::from(answer.group() == Some(NEW));
    }
    let samples = replica.admin.samples().await;
    assert!(samples.sum(CONFIRMED, &[]) < 0.5, "no pin came back yet");
    assert!(samples.sum(LIVE, &[]) < 0.5);

    for _ in 0..2 {
        for client in &mut clients {
            client.get(replica.address(), "/").await;
        }
    }
    let samples = replica.admin.samples().await;
    let confirmed = samples.sum(CONFIRMED, &[]);
    assert!((confirmed - 120.0).abs() < 0.5, "{confirmed} confirmed");
    let live = samples.sum(LIVE, &[("group", NEW)]);
    assert!(is_near(live, on_new), "{live} of {on_new} live");
    let details = replica.admin.get(&format!("/v1/groups/{NEW}")).await.json();
    let shown = details["live_sessions"].as_f64().expect("a number");
    assert!(is_near(shown, on_new), "{details}");

    replica
        .admin
        .verb(NEW, "abort", &json!({}))
        .await
        .accepted();
    for client in &mut clients {
        client.get(replica.address(), "/").await;
    }
    let samples = replica.admin.samples().await;
    let labels = [("from", NEW), ("to", OLD), ("cause", "aborted")];
    let moved = samples.sum(MOVED, &labels);
    assert!((moved - on_new as f64).abs() < 0.5, "{moved} moved");
    let live = samples.sum(LIVE, &[("group", OLD)]);
    assert!(is_near(live, clients.len()), "{live} of 120 live");
}
