//! F05, F06 and F07: a pod that hangs, is slow, or never answers.

use std::time::Duration;

use affinity_tests::load::Ask;
use affinity_tests::proxy::Fault;
use http::StatusCode;
use tokio::time::{Instant, sleep};

use crate::stage::{Between, NEW, Stage, TIMED_OUT, mixed};

/// Further attempts that are allowed.
const RETRIES: usize = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f05_a_pod_that_hangs_is_left_and_its_group_goes_on() {
    let stage = Stage::impatient(Between::Nothing).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    let begun = Instant::now();
    sleep(stage.scale.phase(1.5)).await;
    let stopped = Instant::now();
    let victim = &stage.pods[stage.victim()];
    victim.signal("STOP").await;
    stage.until_ready(NEW, 2).await;
    // what is under way is over
    sleep(TIMED_OUT).await;
    let known = Instant::now();
    sleep(stage.scale.phase(2.0)).await;
    let resumed = Instant::now();
    victim.signal("CONT").await;
    stage.until_ready(NEW, 3).await;
    let shots = running.stop().await;

    let joined = stage.join("F05", &shots);
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
    assert!(
        joined.most_attempts <= 1 + RETRIES,
        "{} attempts",
        joined.most_attempts
    );
    let other = shots
        .failures()
        .find(|shot| shot.status() != Some(StatusCode::GATEWAY_TIMEOUT));
    assert!(other.is_none(), "no timeout: {other:?}");
    let during = shots.sent(known..resumed);
    assert_eq!(
        during.faults(),
        Default::default(),
        "the pod was still asked"
    );
    let (before, during) = (
        shots.sent(begun..stopped).quantile(0.99),
        during.quantile(0.99),
    );
    assert!(
        during <= stage.scale.tolerated(before),
        "p99 was {before:?} and is {during:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f06_a_slow_pod_gets_a_small_share() {
    let stage = Stage::new(Between::Proxies).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &[Ask::get("/step")]);
    sleep(stage.scale.phase(0.5)).await;
    let victim = stage.victim();
    stage.proxies[victim].inject(Fault::delay(Duration::from_millis(800)));
    sleep(Duration::from_secs(1)).await;
    let known = Instant::now();
    sleep(stage.scale.phase(3.0)).await;
    let shots = running.stop().await;

    let joined = stage.join("F06", &shots);
    assert_eq!(shots.faults(), Default::default(), "slow is no error");
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
    let group = shots
        .sent(known..Instant::now())
        .only(|shot| shot.group() == Some(NEW));
    let share = group.share(stage.pods[victim].name());
    assert!(
        share <= 0.05,
        "the slow pod still got {share:.3} of its group"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f07_a_pod_that_never_answers_costs_a_timeout_and_no_second_execution() {
    let stage = Stage::impatient(Between::Proxies).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    sleep(stage.scale.phase(0.5)).await;
    stage.proxies[stage.victim()].inject(Fault::silent());
    stage.until_ready(NEW, 2).await;
    sleep(TIMED_OUT).await;
    let known = Instant::now();
    sleep(stage.scale.phase(2.0)).await;
    let shots = running.stop().await;

    let joined = stage.join("F07", &shots);
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
    assert!(
        joined.most_attempts <= 1 + RETRIES,
        "{} attempts",
        joined.most_attempts
    );
    let other = shots
        .failures()
        .find(|shot| shot.status() != Some(StatusCode::GATEWAY_TIMEOUT));
    assert!(other.is_none(), "no timeout: {other:?}");
    let during = shots.sent(known..Instant::now());
    assert_eq!(
        during.faults(),
        Default::default(),
        "the pod was still asked"
    );
}
