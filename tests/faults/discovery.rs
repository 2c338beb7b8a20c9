//! F15 and F16: the source of endpoints goes empty, or away. F17, garbage, is `stories::mutations`
//! for the configuration and the gateway's own tests for a file of endpoints.

use affinity_tests::dns::{Dns, Says};
use affinity_tests::until;
use tokio::time::sleep;

use crate::stage::{NEW, OLD, Stage, mixed};

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

/// How often an answer did not count, by group and what was wrong.
const FAILURES: &str = "affinity_discovery_failures_total";
/// For how long a list is kept that no source confirms.
const STALE: &str = "affinity_discovery_stale_seconds";

async fn held(stage: &Stage, kind: &str) {
    for group in [OLD, NEW] {
        let what = format!("the {kind} answer for {group} is held back");
        until(&what, async || {
            let failures = stage
                .sum(FAILURES, &[("group", group), ("kind", kind)])
                .await;
            (failures > 0.0).then_some(())
        })
        .await;
        assert!(stage.sum(STALE, &[("group", group)]).await > 0.0, "{group}");
        let shown = stage.admin().group(group).await;
        assert_eq!(shown["source"]["failure"], kind, "{shown}");
        let endpoints = shown["endpoints"].as_array().map(Vec::len);
        assert_eq!(endpoints, Some(3), "{shown}");
    }
}

async fn follows(stage: &Stage, count: usize) {
    for group in [OLD, NEW] {
        let what = format!("{group} has {count} endpoints again");
        until(&what, async || {
            let shown = stage.admin().group(group).await;
            let endpoints = shown["endpoints"].as_array().map(Vec::len);
            (endpoints == Some(count) && shown["source"]["stale_seconds"] == 0).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f15_an_empty_answer_of_a_source_is_held_and_released() {
    let dns = Dns::start(Says::Nothing).await;
    let stage = Stage::discovered(&dns).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    dns.say(Says::Addresses(Vec::new()));
    stage.dir.write("old.endpoints", "");
    held(&stage, "empty").await;
    dns.say(Says::NoSuchName);
    sleep(stage.scale.phase(1.0)).await;
    held(&stage, "empty").await;
    // a group has to be shrunk all the same
    dns.say(stage.names(2));
    stage.file(2);
    follows(&stage, 2).await;
    dns.say(stage.names(3));
    stage.file(3);
    follows(&stage, 3).await;
    sleep(stage.scale.phase(0.5)).await;
    let shots = running.stop().await;

    let joined = stage.join("F15 (sources)", &shots);
    assert_eq!(shots.faults(), Default::default(), "the pods were there");
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f16_sources_that_are_away_leave_the_last_list() {
    let dns = Dns::start(Says::Nothing).await;
    let stage = Stage::discovered(&dns).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    let file = stage.dir.path().join("old.endpoints");
    std::fs::remove_file(&file).expect("the file is there");
    dns.say(Says::ServerFailure);
    held(&stage, "error").await;
    for says in [Says::Garbage, Says::Nothing] {
        dns.say(says);
        sleep(stage.scale.phase(2.0)).await;
    }
    let shown = stage.admin().group(NEW).await;
    let endpoints = shown["endpoints"].as_array().map(Vec::len);
    assert_eq!(endpoints, Some(3), "{shown}");
    dns.say(stage.names(2));
    stage.file(2);
    follows(&stage, 2).await;
    sleep(stage.scale.phase(0.5)).await;
    let shots = running.stop().await;

    let joined = stage.join("F16 (sources)", &shots);
    assert_eq!(shots.faults(), Default::default(), "the pods were there");
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
}
