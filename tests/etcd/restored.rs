//! What etcd holds is older than what the gateways know, or nothing that they can read.

use affinity_tests::jar::Keeps;
use affinity_tests::until;
use http::StatusCode;
use serde_json::json;
use tower_affinity::core::SharedState;

use crate::support::{BAD, Cluster, Moves, STABLE, Traffic};

/// The sum of a counter over all gateways.
async fn counted(cluster: &Cluster, name: &str) -> f64 {
    let mut sum = 0.0;
    for member in &cluster.members {
        sum += member.admin().samples().await.sum(name, &[]);
    }
    sum
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_backup_is_written_over_and_lifts_no_abort() {
    let Some(mut cluster) = Cluster::start(&[(STABLE, 50), (BAD, 50)]).await else {
        return;
    };
    let traffic = Traffic::start(&cluster.addresses(), 30, 3, Keeps::LastArrival);
    traffic.more(100).await;
    let backup = cluster.etcd.back_up().await;
    let aborted = async || {
        let told = cluster.members[1]
            .admin()
            .verb(BAD, "abort", &json!({}))
            .await;
        (told.json()["held"] == "all").then(|| told.revision())
    };
    let revision = until("etcd is in reach again", aborted).await;
    cluster.all_have(BAD, "aborted").await;
    cluster.etcd.restore(&backup).await;
    until("it is written back", async || {
        let document = cluster.members[0].link.document().await;
        let state = SharedState::from_document(&document, &"checkout".parse().unwrap());
        (state.unwrap().rollout.revision().0 >= revision).then_some(())
    })
    .await;
    assert!(counted(&cluster, "affinity_revision_regressions_total").await >= 1.0);
    traffic.more(200).await;
    cluster.all_have(BAD, "aborted").await;
    let history = traffic.stop().await;
    let moves = Moves::of(&history, cluster.fleet.ledger());
    moves.assert_at_most(1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_that_is_no_state_of_the_service_disturbs_no_session_and_is_counted() {
    let Some(cluster) = Cluster::start(&[(STABLE, 50), (BAD, 50)]).await else {
        return;
    };
    let traffic = Traffic::start(&cluster.addresses(), 30, 3, Keeps::LastArrival);
    let link = &cluster.members[0].link;
    let good = link.document().await;
    let state = SharedState::from_document(&good, &"checkout".parse().unwrap()).unwrap();
    let other = state.to_document(&"search".parse().unwrap());
    for wrong in [other.as_str(), "garbage", "", &good[..good.len() / 2]] {
        let before = counted(&cluster, "affinity_state_rejected_total").await;
        link.overwrite(wrong).await;
        until("every gateway has refused it", async || {
            let now = counted(&cluster, "affinity_state_rejected_total").await;
            (now >= before + 3.0).then_some(())
        })
        .await;
        let refused = cluster.members[2].admin().weights(&json!({ BAD: 1 })).await;
        assert_eq!(refused.status, StatusCode::CONFLICT, "{}", refused.text());
        assert_eq!(
            link.document().await,
            wrong,
            "it is left for a human to see"
        );
        traffic.more(60).await;
        link.overwrite(&good).await;
        let accepted = async || {
            let told = cluster.members[2]
                .admin()
                .weights(&json!({ BAD: 50 }))
                .await;
            (told.status == StatusCode::OK).then_some(())
        };
        until("the state is usable again", accepted).await;
    }
    let history = traffic.stop().await;
    let moves = Moves::of(&history, cluster.fleet.ledger());
    assert_eq!(moves.edges().len(), 0, "somebody moved");
}
