//! F10: a group that answers everything with an error.

use tokio::time::sleep;

use crate::stage::{Between, NEW, OLD, Stage, mixed};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f10_a_group_that_answers_500_is_not_asked_more_often() {
    let mut stage = Stage::new(Between::Nothing).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    for at in stage.new_group() {
        stage.pods[at].order("status 500").await;
    }
    sleep(stage.scale.phase(3.0)).await;
    for at in stage.new_group() {
        stage.pods[at].order("status 200").await;
    }
    let healed = tokio::time::Instant::now() + std::time::Duration::from_secs(1);
    sleep(stage.scale.phase(2.0)).await;
    let shots = running.stop().await;

    let joined = stage.join("F10", &shots);
    assert_eq!(
        joined.moved(),
        0,
        "an error moved a session: {:?}",
        joined.moves
    );
    let attempts = joined.attempts_per_request();
    assert!(attempts <= 1.2, "{attempts:.3} attempts a request");
    let failed: Vec<_> = shots.failures().collect();
    assert!(
        failed.len() > 50,
        "the fault was hardly met: {:?}",
        shots.faults()
    );
    let passed_on = failed
        .iter()
        .filter(|shot| shot.status().is_some_and(|status| status == 500));
    assert_eq!(
        passed_on.count(),
        failed.len(),
        "not the pods' own answers: {:?}",
        shots.faults()
    );
    let late = shots.sent(healed..tokio::time::Instant::now());
    assert!(late.len() > 50, "nothing was asked afterwards");
    assert_eq!(
        late.faults(),
        Default::default(),
        "errors after the pods were well again"
    );
    stage.until_ready(OLD, 3).await;
    stage.until_ready(NEW, 3).await;
}
