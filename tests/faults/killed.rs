//! F02 and F09: pods that are killed, and idle connections that are reset.

use std::time::Duration;

use affinity_tests::proxy::Fault;
use http::{Method, StatusCode};
use tokio::time::{Instant, sleep};

use crate::stage::{Between, Stage, mixed};

/// By when the end of a process has come to its connections.
const NEWS: Duration = Duration::from_millis(100);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f02_killed_pods_fail_only_posts_that_were_under_way() {
    let mut stage = Stage::new(Between::Nothing).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    let mut kills = Vec::new();
    for at in stage.new_group() {
        sleep(stage.scale.phase(0.5)).await;
        let begun = Instant::now();
        stage.pods[at].kill().await;
        kills.push(begun..Instant::now() + NEWS);
        sleep(stage.scale.phase(1.2)).await;
        stage.pods[at].restart().await;
        stage.until_ready(crate::stage::NEW, 3).await;
    }
    let shots = running.stop().await;

    let joined = stage.join("F02", &shots);
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
    assert!(
        joined.most_attempts <= 3,
        "{} attempts",
        joined.most_attempts
    );
    let reads = shots.only(|shot| shot.method == Method::GET);
    assert_eq!(
        reads.faults(),
        Default::default(),
        "a GET can always be sent again"
    );
    for shot in shots.failures() {
        assert_eq!(shot.status(), Some(StatusCode::BAD_GATEWAY), "{shot:?}");
        let ended = shot.sent + shot.took;
        let under_way = kills
            .iter()
            .any(|kill| shot.sent < kill.end && ended > kill.start);
        assert!(under_way, "not under way when a pod was killed: {shot:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f09_a_reset_of_an_idle_connection_fails_no_get_and_doubles_no_post() {
    let stage = Stage::new(Between::Proxies).await;
    let load = stage.sessions().await;
    let running = load.open(stage.scale.rate, &mixed());
    sleep(stage.scale.phase(0.5)).await;
    let proxy = &stage.proxies[stage.victim()];
    let before = proxy.accepted();
    // as after the restart of what tracks connections: all that are kept fail, new ones do not
    for _ in 0..4 {
        proxy.inject(Fault::reset_idle());
        sleep(stage.scale.phase(0.2)).await;
        proxy.inject(Fault::none());
        sleep(stage.scale.phase(0.5)).await;
    }
    let reset = proxy.accepted() - before;
    let shots = running.stop().await;

    let joined = stage.join("F09", &shots);
    assert!(
        reset > 3,
        "the fault was hardly met: {reset} new connections"
    );
    assert_eq!(joined.moved(), 0, "a session was moved: {:?}", joined.moves);
    let reads = shots.only(|shot| shot.method == Method::GET);
    assert_eq!(
        reads.faults(),
        Default::default(),
        "a GET can always be sent again"
    );
    let other = shots
        .failures()
        .find(|shot| shot.status() != Some(StatusCode::BAD_GATEWAY));
    assert!(other.is_none(), "{other:?}");
}
