//! F18 and F19: addresses and names that do not say which group is meant.

use std::time::Duration;

use affinity_tests::process::run;
use tokio::time::{Instant, sleep};

use crate::stage::{Between, NEW, OLD, Stage, mixed};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f19_two_groups_of_one_name_or_address_are_refused() {
    let stage = Stage::with_process().await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    let mut twins = stage.config.clone();
    twins.group(NEW).name = OLD.to_owned();
    let mut shared = stage.config.clone();
    shared.group(NEW).endpoints[0] = stage.config.groups[0].endpoints[0];
    for (wrong, named) in [
        (&twins, OLD.to_owned()),
        (&shared, shared.groups[0].endpoints[0].to_string()),
    ] {
        let file = stage.dir.write("wrong.toml", wrong.text());
        for verb in ["check", "run"] {
            let words = [verb, "--config", file.to_str().expect("a path is text")];
            let ended = run(&words, &[]).await;
            assert_eq!(ended.code, 2, "{verb}: {}", ended.stderr);
            assert!(
                ended.stderr.contains(&named),
                "{verb} does not name {named}: {}",
                ended.stderr
            );
        }
        // one that already runs keeps what it has
        let before = stage.sum("affinity_config_rejected_total", &[]).await;
        stage.dir.write("gateway.toml", wrong.text());
        affinity_tests::until("the refusal", async || {
            let now = stage.sum("affinity_config_rejected_total", &[]).await;
            (now > before).then_some(())
        })
        .await;
    }
    let shots = running.stop().await;

    let joined = stage.join("F19", &shots);
    assert_eq!(
        shots.faults(),
        Default::default(),
        "a refused file disturbed somebody"
    );
    assert_eq!(
        joined.moved(),
        0,
        "a refused file moved a session: {:?}",
        joined.moves
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f18_an_address_that_another_group_took_over_executes_nothing_of_the_first() {
    let mut stage = Stage::new(Between::Identity).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    sleep(stage.scale.phase(0.5)).await;
    let victim = stage.victim();
    stage.pods[victim].kill().await;
    // the list still says that it is of the new group
    let taken = stage.pods[victim]
        .replaced(&stage.dir, OLD, "taken-over")
        .await;
    let settled = Instant::now() + Duration::from_millis(100);
    stage.pods.push(taken);
    sleep(stage.scale.phase(3.0)).await;
    let shots = running.stop().await;

    let joined = stage.join("F18", &shots);
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
    let after = shots.sent(settled..Instant::now());
    assert_eq!(
        after.faults(),
        Default::default(),
        "the others of the group were there"
    );
    let found = stage
        .sum("affinity_wrong_group_total", &[("group", NEW)])
        .await;
    assert!(found > 0.0, "the fault was never met");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f18_an_address_that_changes_its_group_in_the_list_serves_the_new_one_only() {
    let mut stage = Stage::new(Between::Nothing).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    sleep(stage.scale.phase(0.5)).await;
    let victim = stage.victim();
    let address = stage.pods[victim].address();
    stage
        .config
        .group(NEW)
        .endpoints
        .retain(|listed| *listed != address);
    stage.reload();
    sleep(Duration::from_millis(200)).await;
    stage.pods[victim].end().await;
    let taken = stage.pods[victim]
        .replaced(&stage.dir, OLD, "taken-over")
        .await;
    stage.pods.push(taken);
    stage.config.group(OLD).endpoints.push(address);
    stage.reload();
    stage.until_ready(OLD, 4).await;
    sleep(stage.scale.phase(1.0)).await;
    let shots = running.stop().await;

    let joined = stage.join("F18 without the layer", &shots);
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
    assert_eq!(
        shots.faults(),
        Default::default(),
        "it had left the list before"
    );
    let served = stage.pods.last().expect("it was added").ledger();
    assert!(
        served
            .iter()
            .any(|line| line.done && line.request.is_some()),
        "it serves nobody"
    );
}
