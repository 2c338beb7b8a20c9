//! A group drains at three gateways: never early, within a second of its last pin, and in the end
//! without the word of one that is gone.

use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::history::History;
use affinity_tests::until;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tower_affinity::core::{Clock, Engine, Timestamp};

use crate::support::{BAD, Cluster, STABLE};

/// Sessions of five seconds, and clocks that agree.
fn short(config: Config) -> Config {
    let pin =
        "idle_ttl = \"5s\"\nmax_age = \"5s\"\nlocal_idle_timeout = \"1s\"\nclock_skew = \"0s\"";
    Config {
        pin: pin.to_owned(),
        ..config
    }
}

async fn told(cluster: &Cluster, member: usize) -> (bool, Value) {
    let path = format!("/v1/groups/{BAD}/drained");
    let left: Value = cluster.members[member].admin().get(&path).await.json();
    (left["drained"] == json!(true), left)
}

/// The word of a replica lapses within a second instead of half a minute.
async fn lapse(cluster: &Cluster, name: &str) {
    let member = &cluster.members[0];
    let announced = member.replica.gateway.control().announced();
    let mut announced = announced.iter();
    let word = announced
        .find(|word| word.replica == name)
        .expect("its word");
    let spoken = member
        .link
        .announce(name, word.record.clone(), Duration::from_secs(1));
    spoken.await.expect("etcd answers");
}

/// Lets the clocks of all go as fast as the true one.
async fn tick(cluster: &Cluster, since: &mut Instant) {
    sleep(Duration::from_millis(10)).await;
    let now = Instant::now();
    cluster.advance(now - *since);
    *since = now;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_is_drained_at_all_gateways_within_a_second_of_its_last_pin() {
    let Some(cluster) = Cluster::start_with(&[(STABLE, 1), (BAD, 99)], short).await else {
        return;
    };
    // what may have been issued before the start is over
    cluster.advance(Duration::from_secs(6));
    let history = History::default();
    let mut clients: Vec<_> = (0..12)
        .map(|number| Client::new(number, &history))
        .collect();
    let addresses = cluster.addresses();
    for (number, client) in clients.iter_mut().enumerate() {
        client.get(addresses[number % 3], "/").await;
    }
    let first = cluster.members[0].admin();
    first.verb(BAD, "drain", &json!({})).await.accepted();
    let (early, left) = told(&cluster, 0).await;
    assert!(!early, "{left}");

    let mut since = Instant::now();
    let mut drained = [None; 3];
    let mut last_expiry = Timestamp::default();
    while drained.contains(&None) {
        tick(&cluster, &mut since).await;
        for (number, seen) in drained
            .iter_mut()
            .enumerate()
            .filter(|(_, seen)| seen.is_none())
        {
            let (is_drained, left) = told(&cluster, number).await;
            let now = cluster.members[number].clock.now();
            let expiry = left["last_expiry"].as_u64().unwrap_or_default();
            last_expiry = last_expiry.max(Timestamp::from_secs(expiry));
            *seen = is_drained.then_some(now);
            let open = since.elapsed();
            assert!(open < Duration::from_secs(30), "never drained: {left}");
        }
    }
    for seen in drained.into_iter().flatten() {
        assert!(
            seen > last_expiry,
            "drained at {seen}, a pin lives to {last_expiry}"
        );
        // the view gives whole seconds
        let late = seen.since(last_expiry.plus(Duration::from_secs(1)));
        assert!(
            late <= Duration::from_secs(1),
            "{late:?} after the last pin"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_left_is_not_waited_for_and_one_that_is_gone_can_be_forgotten() {
    let Some(mut cluster) = Cluster::start_with(&[(STABLE, 1), (BAD, 99)], short).await else {
        return;
    };
    cluster.advance(Duration::from_secs(6));
    let leaves = cluster.members.pop().expect("three");
    let cut = leaves.replica.gateway.shutdown().await;
    assert_eq!((cut.connections, cut.tunnels), (0, 0), "nothing was open");
    let gone = cluster.members.pop().expect("two");
    let name = gone.replica.gateway.control().replica();
    // it never hears of the drain, and ends without a word
    gone.link.lag().await;
    drop(gone);
    let first = cluster.members[0].admin();
    first.verb(BAD, "drain", &json!({})).await.accepted();
    cluster.advance(Duration::from_secs(60));
    until("only the one that is gone is waited for", async || {
        let (drained, left) = told(&cluster, 0).await;
        assert!(!drained, "{left}");
        (left["waits_for"] == json!([name])).then_some(())
    })
    .await;
    let path = format!("/v1/replicas/{name}");
    let refused = first.change(Method::DELETE, &path, &json!({}), &[]).await;
    assert_eq!(
        refused.status,
        StatusCode::CONFLICT,
        "it may be alive: {refused:?}"
    );
    lapse(&cluster, &name).await;
    until("it is forgotten", async || {
        let forgotten = first.change(Method::DELETE, &path, &json!({}), &[]).await;
        forgotten.status.is_success().then_some(())
    })
    .await;
    until("it is drained", async || {
        told(&cluster, 0).await.0.then_some(())
    })
    .await;
}
