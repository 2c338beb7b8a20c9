//! F15 and F16: the source of endpoints goes empty, or away. F17, garbage, is `stories::mutations`.

use affinity_tests::until;
use tokio::time::sleep;

use crate::stage::{NEW, Stage, mixed};

/// What the gateway counts when it keeps what it had.
const REJECTED: &str = "affinity_config_rejected_total";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f15_an_empty_list_of_endpoints_removes_none() {
    let mut stage = Stage::with_process().await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    let good = stage.config.text();
    stage.config.group(NEW).endpoints.clear();
    stage.dir.write("gateway.toml", stage.config.text());
    until("the empty list held back", async || {
        (stage.sum(REJECTED, &[]).await > 0.0).then_some(())
    })
    .await;
    sleep(stage.scale.phase(1.0)).await;
    let kept = stage.admin().group(NEW).await;
    assert_eq!(
        kept["endpoints"].as_array().map(Vec::len),
        Some(3),
        "{kept}"
    );
    stage.dir.write("gateway.toml", good);
    sleep(stage.scale.phase(0.5)).await;
    let shots = running.stop().await;

    let joined = stage.join("F15", &shots);
    assert_eq!(
        shots.faults(),
        Default::default(),
        "the list was empty, the pods were there"
    );
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f16_without_its_source_a_gateway_serves_with_the_last_list() {
    let stage = Stage::with_process().await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    let file = stage.dir.path().join("gateway.toml");
    std::fs::remove_file(&file).expect("the file is there");
    // longer than the two seconds within which the file is looked at
    sleep(stage.scale.phase(4.0)).await;
    let mut back = stage.config.clone();
    back.group(NEW).endpoints.pop();
    stage.dir.write("gateway.toml", back.text());
    until("the source is read again", async || {
        let group = stage.admin().group(NEW).await;
        (group["endpoints"].as_array().map(Vec::len) == Some(2)).then_some(())
    })
    .await;
    sleep(stage.scale.phase(0.5)).await;
    let shots = running.stop().await;

    let joined = stage.join("F16", &shots);
    assert_eq!(
        shots.faults(),
        Default::default(),
        "the source was away, the pods were there"
    );
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
}
