//! F11 and F12: a group without any pod, for a while and for ever.

use std::time::Duration;

use affinity_tests::load::Shot;
use tokio::time::{Instant, sleep};

use crate::stage::{Between, NEW, OLD, Stage, mixed};

/// How long sessions wait for a group without an endpoint.
const GRACE: Duration = Duration::from_secs(10);

/// A refusal that asks to come back.
fn asks_to_wait(shot: &Shot) -> bool {
    use affinity_tests::load::Outcome;
    matches!(&shot.outcome, Outcome::Answered { status, retry_after: Some(_), set_cookie: false, .. }
        if *status == 503)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f11_sessions_wait_for_a_group_that_comes_back() {
    let mut stage = Stage::new(Between::Nothing).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    sleep(stage.scale.phase(0.5)).await;
    for at in stage.new_group() {
        stage.pods[at].kill().await;
    }
    stage.until_ready(NEW, 0).await;
    let known = Instant::now();
    // within the grace in both forms
    sleep(Duration::from_secs(4)).await;
    for at in stage.new_group() {
        stage.pods[at].restart().await;
    }
    let back = Instant::now();
    stage.until_ready(NEW, 3).await;
    let healed = Instant::now();
    sleep(stage.scale.phase(1.0)).await;
    let shots = running.stop().await;

    let joined = stage.join("F11", &shots);
    assert_eq!(
        joined.moved(),
        0,
        "a session left its group: {:?}",
        joined.moves
    );
    let dead = shots.sent(known..back);
    let other = dead.failures().find(|shot| !asks_to_wait(shot));
    assert!(
        other.is_none(),
        "in the grace it is 503 with Retry-After: {other:?}"
    );
    assert!(dead.failures().count() > 50, "the fault was hardly met");
    let pinned: Vec<_> = shots
        .iter()
        .filter(|shot| shot.group() == Some(OLD))
        .collect();
    let failed = shots
        .failures()
        .find(|shot| pinned.iter().any(|other| other.session == shot.session));
    assert!(
        failed.is_none(),
        "a session of the other group noticed: {failed:?}"
    );
    let late = shots.sent(healed..Instant::now());
    assert_eq!(
        late.faults(),
        Default::default(),
        "errors after the group was back"
    );
    let back_in = late.iter().filter(|shot| shot.group() == Some(NEW)).count();
    assert!(back_in > 10, "nobody came back to the group");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f12_sessions_of_a_group_that_is_lost_move_once() {
    let mut stage = Stage::new(Between::Nothing).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    let begun = Instant::now();
    sleep(stage.scale.phase(1.5)).await;
    let killed = Instant::now();
    for at in stage.new_group() {
        stage.pods[at].kill().await;
    }
    stage.until_ready(NEW, 0).await;
    // the loss, and as many seconds as it takes each session to ask once more
    sleep(GRACE + Duration::from_secs(1)).await;
    let lost = Instant::now();
    sleep(stage.scale.phase(2.0)).await;
    let shots = running.stop().await;

    let joined = stage.join("F12", &shots);
    let of_new: std::collections::BTreeSet<_> = shots
        .sent(begun..killed)
        .iter()
        .filter(|shot| shot.group() == Some(NEW))
        .map(|shot| shot.session)
        .collect();
    assert!(of_new.len() > 5, "hardly a session in the group");
    let moved: std::collections::BTreeSet<_> = joined.moves.keys().copied().collect();
    assert_eq!(moved, of_new, "who moved, and whose group was lost");
    assert!(
        joined.moves.values().all(|moves| *moves == 1),
        "moved twice: {:?}",
        joined.moves
    );
    let after = shots.sent(lost..Instant::now());
    assert_eq!(
        after.faults(),
        Default::default(),
        "errors after the loss was known"
    );
    let settled = shots
        .failures()
        .map(|shot| shot.sent)
        .max()
        .expect("the fault was met");
    let took = settled - killed;
    assert!(
        took < Duration::from_secs(30),
        "it took {took:?} until all had moved"
    );
    let (before, after) = (
        shots.sent(begun..killed).quantile(0.99),
        after.quantile(0.99),
    );
    assert!(
        after <= stage.scale.tolerated(before),
        "p99 was {before:?} and is {after:?}"
    );
}
