//! F45: sessions that were moved to pods which know nothing of them.

use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::{Process, run};
use affinity_tests::{Scratch, until};
use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::json;
use tokio::time::Instant;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

const BURST: &str = "affinity_auth_burst";
const FAILURES: &str = "affinity_auth_failures_total";

/// How soon an operator has to see it.
const SOON: Duration = Duration::from_secs(10);

/// Sends to the login page, as a pod does that does not know who asks.
fn to_login() -> Request<Full<bytes::Bytes>> {
    let request = Request::get("/status/302").header("x-answer", "location: /login?next=/cart");
    request.body(Full::default()).unwrap()
}

#[tokio::test]
async fn f45_sessions_that_a_rollback_signs_out_are_seen_and_attributed_within_ten_seconds() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]);
    config.sections = "[analysis]\nlogin = [\"/login\"]\n".to_owned();
    let process = Process::start(&config.write(&dir, "gateway.toml")).await;
    let (address, admin) = (process.address(), process.admin());
    let history = History::default();
    let mut clients: Vec<_> = (0..80).map(|nth| Client::new(nth, &history)).collect();
    let mut moving = Vec::new();
    for (nth, client) in clients.iter_mut().enumerate() {
        let first = client.get(address, "/").await;
        if first.group() == Some(NEW) {
            moving.push(nth);
        }
    }
    assert!(
        moving.len() >= 20,
        "only {} sessions are on {NEW}",
        moving.len()
    );

    admin.verb(NEW, "abort", &json!({})).await.accepted();
    let cut_over = Instant::now();
    for (nth, client) in clients.iter_mut().enumerate() {
        let answer = match (moving.contains(&nth), nth % 2) {
            (false, _) => client.get(address, "/").await,
            (true, 0) => client.get(address, "/status/401").await,
            (true, _) => client.send(address, to_login()).await,
        };
        assert_eq!(answer.group(), Some(OLD));
    }
    until("the burst is shown", async || {
        let samples = admin.samples().await;
        let here = samples.sum(BURST, &[("group", OLD)]) > 0.5;
        (here || cut_over.elapsed() > SOON).then_some(())
    })
    .await;
    let seen = cut_over.elapsed();
    assert!(seen < SOON, "{seen:?} after the cut-over");
    let samples = admin.samples().await;
    assert!(
        samples.sum(BURST, &[("group", NEW)]) < 0.5,
        "the wrong group"
    );
    let moved = samples.sum(FAILURES, &[("group", OLD), ("cohort", "moved")]);
    assert!(
        (moved - moving.len() as f64).abs() < 0.5,
        "{moved} failures"
    );
    assert!(
        (samples.sum(FAILURES, &[]) - moved).abs() < 0.5,
        "of nobody else"
    );

    let revision = admin.get("/v1/rollout").await.json()["revision"].clone();
    let line = until("the burst is told", async || {
        let log = process.log();
        let line = log
            .lines()
            .find(|line| line.contains("fail to authenticate"));
        line.map(str::to_owned)
    })
    .await;
    for word in [
        format!("group=\"{OLD}\""),
        format!("moved to {OLD} from {NEW} (cause aborted)"),
        format!("revision {revision}"),
        "affinity::events".to_owned(),
    ] {
        assert!(line.contains(&word), "{word} is not in {line}");
    }

    let analysis = admin.get("/v1/analysis").await.json();
    let burst = &analysis["auth_bursts"][0];
    for (field, value) in [("group", OLD), ("from", NEW), ("cause", "aborted")] {
        assert_eq!(burst[field], value, "{field} of {analysis}");
    }
    assert_eq!(burst["failed"], moving.len(), "{burst}");
    // what the page reads
    let overview = admin.get("/v1/overview").await.json();
    let groups = overview["groups"].as_array().expect("groups");
    let lost = groups.iter().filter(|group| group["lost_login"] == true);
    let lost: Vec<_> = lost.map(|group| &group["name"]).collect();
    assert_eq!(lost, [OLD], "{overview}");
    let url = format!("http://{}", admin.address());
    let told = run(&["rollout", "--admin", &url, "analyze"], &[]).await;
    let line = format!("sessions that came to {OLD} from {NEW} (aborted) are asked to sign in");
    assert!(told.stdout.contains(&line), "{told:?}");

    // once they have signed in again, it is over
    until("the burst is over", async || {
        for nth in &moving {
            let again = clients[*nth].get(address, "/").await;
            assert_eq!(again.status, StatusCode::OK);
        }
        let samples = admin.samples().await;
        (samples.sum(BURST, &[]) < 0.5).then_some(())
    })
    .await;
}
