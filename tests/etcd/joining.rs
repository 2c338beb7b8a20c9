//! A gateway that starts while others share a state.

use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use affinity_tests::until;
use serde_json::json;
use tokio::time::timeout;

use crate::support::{BAD, Cluster, OTHER, STABLE};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fourth_gateway_takes_the_state_and_not_the_configured_weights() {
    let Some(cluster) = Cluster::start(&[(STABLE, 50), (BAD, 25), (OTHER, 25)]).await else {
        return;
    };
    let admin = cluster.members[1].admin();
    admin.weights(&json!({ STABLE: 7 })).await.accepted();
    let revision = admin.verb(BAD, "abort", &json!({})).await.revision();
    // as an operator starts it: the file names etcd
    let config = Config {
        etcd: Some(cluster.etcd.endpoint()),
        state: "state-4.json".to_owned(),
        ..cluster.config.clone()
    };
    let fourth = Replica::named(&cluster.dir, &config, "gateway-4.toml").await;
    assert_eq!(fourth.admin.rollout().await["revision"], revision);
    assert_eq!(fourth.admin.group(BAD).await["state"], "aborted");
    // the aborted group's weight went to the stable one
    assert_eq!(fourth.admin.group(STABLE).await["weight"], 7 + 25);
    fourth.admin.weights(&json!({ OTHER: 5 })).await.accepted();
    until("the first one follows the fourth", async || {
        let weight = cluster.members[0].admin().group(OTHER).await["weight"].clone();
        (weight == 5).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_etcd_a_gateway_starts_only_with_what_it_accepted_before() {
    let Some(mut cluster) = Cluster::start(&[(STABLE, 50), (BAD, 50)]).await else {
        return;
    };
    let admin = cluster.members[0].admin();
    admin.verb(BAD, "abort", &json!({})).await.accepted();
    cluster.all_have(BAD, "aborted").await;
    let third = cluster.members.pop().expect("a third gateway");
    let now = third.clock.clone();
    let drained = third.replica.gateway.shutdown().await;
    assert_eq!(drained, Default::default(), "nothing was in flight");
    cluster.etcd.stop().await;

    let fresh = timeout(Duration::from_secs(3), cluster.member(4, now.clone()));
    assert!(fresh.await.is_err(), "it serves what nobody has agreed on");
    let again = cluster.member(3, now.clone()).await;
    assert_eq!(again.state(BAD), "aborted");
    let history = History::default();
    let mut client = Client::new(0, &history);
    let answer = client.get(again.address(), "/").await;
    assert_eq!(answer.group(), Some(STABLE));

    cluster.etcd.restart().await;
    let fourth = cluster.member(4, now).await;
    assert_eq!(fourth.state(BAD), "aborted");
}
