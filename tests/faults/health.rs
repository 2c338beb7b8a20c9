//! F13 and F14: checks that lie.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::stage::{Between, NEW, OLD, Stage, UPSTREAM, mixed};

/// The least rate, a second, at which shares of two seconds are compared.
const RATE: u32 = 500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f13_checks_that_all_fail_are_not_believed() {
    let mut stage = Stage::new(Between::Nothing).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    for pod in &mut stage.pods {
        pod.order("health off").await;
    }
    stage.until_ready(OLD, 0).await;
    stage.until_ready(NEW, 0).await;
    sleep(stage.scale.phase(2.0)).await;
    for pod in &mut stage.pods {
        pod.order("health on").await;
    }
    let left = stage.until_ready(OLD, 3).await + stage.until_ready(NEW, 3).await;
    sleep(stage.scale.phase(0.5)).await;
    let shots = running.stop().await;

    let joined = stage.join("F13", &shots);
    assert_eq!(
        shots.faults(),
        Default::default(),
        "pods that are well are asked"
    );
    assert_eq!(
        joined.moved(),
        0,
        "a failed check moved a session: {:?}",
        joined.moves
    );
    assert!(
        left <= Duration::from_secs(1),
        "it took {left:?} to believe the checks again"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f14_flapping_checks_move_nobody_and_hardly_change_a_share() {
    // a pod is well or not for half a second: never long enough for three failures in a row
    let mut stage = Stage::configured(Between::Nothing, |config| {
        config.sections = UPSTREAM.replace("unhealthy_after = 2", "unhealthy_after = 4");
    })
    .await;
    let load = stage.sessions().await;
    // so many that chance alone does not bring a window's share near the bound
    let running = load.open(stage.scale.rate.max(RATE), &mixed());
    let flaps = (stage.scale.phase(6.0).as_millis() / 1000).max(1);
    let (mut shares, victim) = (Vec::new(), stage.victim());
    let mut since = Instant::now();
    for flap in 0..flaps {
        stage.pods[victim].order("health off").await;
        sleep(Duration::from_millis(500)).await;
        stage.pods[victim].order("health on").await;
        sleep(Duration::from_millis(500)).await;
        if flap % 2 == 1 {
            let shots = load.shots().sent(since..Instant::now());
            let group = shots.only(|shot| shot.group() == Some(NEW));
            shares.push(group.share(stage.pods[victim].name()));
            since = Instant::now();
        }
    }
    let shots = running.stop().await;

    let joined = stage.join("F14", &shots);
    assert_eq!(shots.faults(), Default::default());
    assert_eq!(
        joined.moved(),
        0,
        "a flapping check moved a session: {:?}",
        joined.moves
    );
    let (least, most) = (
        shares.iter().copied().fold(1.0, f64::min),
        shares.iter().copied().fold(0.0, f64::max),
    );
    assert!(
        most - least <= 0.2,
        "the pod's share of its group swung: {shares:.2?}"
    );
}
