//! F23: an abort while etcd is down, for an hour or not. It is obeyed where it was asked for, at
//! once, and by all when etcd is back; requests are served all the time.

use std::time::Duration;

use affinity_tests::jar::Keeps;
use affinity_tests::process::run;
use affinity_tests::until;
use http::StatusCode;
use serde_json::json;

use crate::support::{BAD, Cluster, Moves, OTHER, STABLE, Traffic};

const THREE: [(&str, u16); 3] = [(STABLE, 40), (BAD, 40), (OTHER, 20)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abort_in_an_outage_of_an_hour_is_obeyed_here_at_once_and_by_all_afterwards() {
    let Some(mut cluster) = Cluster::start(&THREE).await else {
        return;
    };
    let traffic = Traffic::start(&cluster.addresses(), 60, 3, Keeps::NewestPin);
    traffic.more(300).await;
    cluster.etcd.stop().await;
    let asked = &cluster.members[0];
    let told = asked.admin().verb(BAD, "abort", &json!({})).await;
    told.accepted();
    let known = traffic.history.moment();
    assert_eq!(told.json()["held"], "replica");
    assert_eq!(asked.state(BAD), "aborted");
    assert_eq!(cluster.members[1].state(BAD), "active", "nobody told it");
    let facts = asked.admin().get("/v1/facts").await.json();
    assert_eq!(facts["facts"][0]["group"], BAD, "{facts}");
    // an hour, in which sessions live on
    for _ in 0..12 {
        cluster.advance(Duration::from_secs(300));
        traffic.more(120).await;
    }
    for (path, body) in [
        ("promote", json!({})),
        ("restore", json!({})),
        ("retire", json!({})),
    ] {
        let refused = asked.admin().verb(BAD, path, &body).await;
        assert_eq!(
            refused.status,
            StatusCode::CONFLICT,
            "{path}: {}",
            refused.text()
        );
    }
    let refused = asked.admin().weights(&json!({ OTHER: 1 })).await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text());
    cluster.etcd.restart().await;
    cluster.all_have(BAD, "aborted").await;
    let all_know = traffic.history.moment();
    let facts = async || cluster.members[0].admin().get("/v1/facts").await.json();
    until("the fact has merged", async || {
        (facts().await["facts"] == json!([])).then_some(())
    })
    .await;
    traffic.more(300).await;
    let history = traffic.stop().await;

    let moves = Moves::of(&history, cluster.fleet.ledger());
    moves.assert_nobody_in(BAD, cluster.members[0].address(), known);
    for address in cluster.addresses() {
        moves.assert_nobody_in(BAD, address, all_know);
    }
    let moved = moves.assert_at_most(1);
    assert!(moved > 10, "only {moved} sessions moved");
    moves.assert_no_reversed_edge();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_is_told_by_exit_code_5_that_an_abort_is_held_here_only() {
    let Some(mut cluster) = Cluster::start(&THREE).await else {
        return;
    };
    cluster.etcd.stop().await;
    let admin = cluster.members[0].admin();
    let (url, token) = (
        format!("http://{}", admin.address()),
        admin.token().to_owned(),
    );
    let env = [("AFFINITY_ADMIN_TOKEN", token.as_str())];
    let abort = ["rollout", "abort", BAD, "--admin", &url];
    let ended = run(&abort, &env).await;
    assert_eq!(ended.code, 5, "{} {}", ended.stdout, ended.stderr);
    cluster.etcd.restart().await;
    cluster.all_have(BAD, "aborted").await;
    let again = run(&abort, &env).await;
    assert_eq!(again.code, 0, "{} {}", again.stdout, again.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_gateways_that_aborted_each_others_target_leave_one_group_that_serves() {
    let Some(mut cluster) = Cluster::start(&THREE).await else {
        return;
    };
    let traffic = Traffic::start(&cluster.addresses(), 60, 3, Keeps::NewestPin);
    traffic.more(200).await;
    cluster.etcd.stop().await;
    let [one, two, _] = &cluster.members[..] else {
        panic!("there are three");
    };
    let to = json!({ "to": OTHER });
    let first = one.admin().verb(BAD, "abort", &to).await;
    assert_eq!(first.json()["held"], "replica");
    let to = json!({ "to": BAD });
    let second = two.admin().verb(OTHER, "abort", &to).await;
    assert_eq!(second.json()["held"], "replica");
    traffic.more(300).await;
    cluster.etcd.restart().await;
    until("one of the aborts has merged", async || {
        let merged = |group| cluster.members.iter().all(|m| m.state(group) == "aborted");
        (merged(BAD) || merged(OTHER)).then_some(())
    })
    .await;
    traffic.more(300).await;
    let history = traffic.stop().await;
    let odd = history
        .entries()
        .into_iter()
        .find(|entry| entry.status != 200);
    assert!(odd.is_none(), "somebody was not served: {odd:?}");
    for member in &cluster.members {
        let serving = [STABLE, BAD, OTHER].map(|group| member.state(group));
        assert!(serving.contains(&"active"), "{serving:?}");
        assert_eq!(member.state(STABLE), "active");
    }
}
