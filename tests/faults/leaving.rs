//! F04: a pod that leaves while it has long requests.

use std::time::Duration;

use affinity_tests::load::Ask;
use affinity_tests::until;

use crate::stage::{Between, Stage, UPSTREAM};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f04_a_pod_that_leaves_finishes_its_long_requests() {
    let mut stage = Stage::configured(Between::Nothing, |config| {
        config.sections = UPSTREAM.replace("600ms", "30s");
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
