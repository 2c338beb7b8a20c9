//! F34: clocks that differ by up to five minutes move nobody; a gateway whose clock is an hour off
//! says that it is not ready.

use std::time::Duration;

use affinity_tests::jar::Keeps;
use affinity_tests::until;
use http::StatusCode;
use serde_json::json;
use tower_affinity::core::{Clock, Timestamp};

use crate::support::{BAD, Cluster, Member, Moves, STABLE, Traffic};

const HOUR: u64 = 3_600;

/// Waits until a gateway answers that to who asks whether it is ready.
async fn readiness(member: &Member, status: StatusCode) {
    until(&format!("readiness {status}"), async || {
        (member.admin().get("/readyz").await.status == status).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_that_differ_by_five_minutes_move_nobody() {
    let Some(cluster) = Cluster::start(&[(STABLE, 50), (BAD, 50)]).await else {
        return;
    };
    cluster.members[1].clock.advance(Duration::from_secs(150));
    cluster.members[2].clock.advance(Duration::from_secs(300));
    let traffic = Traffic::start(&cluster.addresses(), 60, 3, Keeps::LastArrival);
    // over renewals
    for _ in 0..6 {
        traffic.more(200).await;
        cluster.advance(Duration::from_secs(300));
    }
    let history = traffic.stop().await;
    let moves = Moves::of(&history, cluster.fleet.ledger());
    assert_eq!(moves.edges().len(), 0, "somebody moved");
    let decisions = moves.decisions();
    assert_eq!(decisions["assigned; cause=new"], 60, "{decisions:?}");
    assert_eq!(decisions.len(), 2, "{decisions:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_whose_clock_stepped_by_an_hour_is_not_ready_until_it_is_right() {
    let Some(cluster) = Cluster::start(&[(STABLE, 50), (BAD, 50)]).await else {
        return;
    };
    let [one, two, stepped] = &cluster.members[..] else {
        panic!("there are three");
    };
    let right = stepped.clock.now();
    let traffic = Traffic::start(&[one.address(), two.address()], 30, 3, Keeps::LastArrival);
    let mut weight = 50;
    for wrong in [right.as_secs() + HOUR, right.as_secs() - HOUR] {
        stepped.clock.set(Timestamp::from_secs(wrong));
        // all gateways speak when the state changes
        weight += 1;
        one.admin()
            .weights(&json!({ BAD: weight }))
            .await
            .accepted();
        readiness(stepped, StatusCode::SERVICE_UNAVAILABLE).await;
        for member in [one, two] {
            readiness(member, StatusCode::OK).await;
        }
        traffic.more(100).await;
        stepped.clock.set(right);
        weight += 1;
        one.admin()
            .weights(&json!({ BAD: weight }))
            .await
            .accepted();
        readiness(stepped, StatusCode::OK).await;
    }
    let history = traffic.stop().await;
    let moves = Moves::of(&history, cluster.fleet.ledger());
    assert_eq!(moves.edges().len(), 0, "somebody moved");
}
