//! F03 and F04: pods that leave in good order.

use std::time::Duration;

use affinity_tests::load::Ask;
use affinity_tests::until;
use tokio::time::sleep;

use crate::stage::{Between, NEW, Stage, UPSTREAM, mixed};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f04_a_pod_that_leaves_finishes_its_long_requests() {
    let mut stage = Stage::configured(Between::Nothing, |config| {
        config.sections = UPSTREAM.replace("20s", "1m");
        // the clients of HTTP/2 share one connection, and none is to wait for another
        config.listen = "max_streams = 1000\n".to_owned();
    })
    .await;
    let load = stage.sessions().await;
    let long = if stage.scale.sessions > 100 {
        Duration::from_secs(20)
    } else {
        Duration::from_secs(2)
    };
    let path = format!("/slow/{}", long.as_millis());
    let round = tokio::spawn({
        let (load, path, parallel) = (load.clone(), path.clone(), stage.scale.sessions);
        async move { load.round(parallel, &Ask::get(&path)).await }
    });
    let came = async || {
        let lines = stage.lines();
        let came = lines
            .iter()
            .filter(|line| line.done && line.path == path)
            .count();
        (came == stage.scale.sessions).then_some(())
    };
    until("all long requests at their pods", came).await;
    let victim = stage.victim();
    let on_victim = stage.pods[victim]
        .ledger()
        .iter()
        .filter(|line| line.done && line.path == path)
        .count();
    assert!(on_victim > 0, "the pod has no long request");
    stage.pods[victim].signal("TERM").await;
    stage.pods[victim].end().await;
    round.await.expect("a round does not panic");

    let shots = load.shots();
    let joined = stage.join("F04", &shots);
    assert_eq!(
        shots.faults(),
        Default::default(),
        "cut with {on_victim} long requests at the pod"
    );
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f03_pods_that_leave_before_the_list_says_so_fail_nobody() {
    let mut stage = Stage::new(Between::Nothing).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    // in the full form the group is restarted again and again, while 200,000 requests come
    let (restarts, least) = if stage.scale.sessions > 100 {
        (40, 200_000)
    } else {
        (1, 200)
    };
    for at in stage.new_group().cycle().take(restarts) {
        sleep(Duration::from_millis(300)).await;
        stage.pods[at].signal("TERM").await;
        // the list is late
        sleep(Duration::from_secs(2)).await;
        let listed = stage.config.group(NEW).endpoints.clone();
        let gone = stage.pods[at].address();
        stage
            .config
            .group(NEW)
            .endpoints
            .retain(|address| *address != gone);
        stage.reload();
        sleep(Duration::from_millis(100)).await;
        stage.pods[at].end().await;
        stage.pods[at].restart().await;
        stage.config.group(NEW).endpoints = listed;
        stage.reload();
        stage.until_ready(NEW, 3).await;
    }
    sleep(stage.scale.phase(0.5)).await;
    let shots = running.stop().await;

    let joined = stage.join("F03", &shots);
    assert!(
        joined.requests >= least,
        "only {} requests",
        joined.requests
    );
    assert_eq!(
        shots.faults(),
        Default::default(),
        "a pod that left in good order failed somebody"
    );
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
}
