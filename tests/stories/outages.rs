//! Endpoints that die: sessions wait for their group, and leave it only when it is lost.

use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::Process;
use affinity_tests::replica::Replica;
use affinity_tests::samples::Samples;
use affinity_tests::{Scratch, until};
use http::StatusCode;
use serde_json::json;
use tokio::time::sleep;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

const HEALTH: &str = "[upstream]\nhealth = { path = \"/livez\", interval = \"100ms\", \
                      unhealthy_after = 1, healthy_after = 1 }\n";

async fn ready(replica: &Replica, group: &str, count: usize) {
    until(&format!("{count} ready endpoints of {group}"), async || {
        let group = replica.admin.group(group).await;
        let endpoints = group["endpoints"].as_array().unwrap();
        let ready = endpoints
            .iter()
            .filter(|endpoint| endpoint["state"] == "ready")
            .count();
        (ready == count).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_dead_endpoint_is_left_and_its_sessions_stay_in_their_group() {
    let mut fleet = Fleet::start(&[OLD, NEW], 3).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]);
    config.sections = HEALTH.to_owned();
    let replica = Replica::start(&dir, &config).await;
    let (history, address) = (History::default(), replica.address());
    let mut clients: Vec<_> = (0..20)
        .map(|number| Client::new(number, &history))
        .collect();
    for client in &mut clients {
        client.get(address, "/").await;
    }
    fleet.end(NEW, 0);
    ready(&replica, NEW, 2).await;
    for client in &mut clients {
        for _ in 0..5 {
            assert_eq!(client.get(address, "/").await.status, StatusCode::OK);
        }
    }
    for (client, entries) in history.by_client() {
        let moved = entries.iter().find(|entry| entry.group != entries[0].group);
        assert!(moved.is_none(), "client {client} left its group: {moved:?}");
    }
    history.balances(fleet.ledger());
}

#[tokio::test]
async fn a_dead_group_keeps_its_sessions_until_it_is_lost() {
    let mut fleet = Fleet::start(&[OLD, NEW, "0a1b2c3"], 2).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 0), (NEW, 1), ("0a1b2c3", 0)]);
    config.sections = HEALTH.to_owned();
    let replica = Replica::start(&dir, &config).await;
    let (history, address) = (History::default(), replica.address());
    let mut client = Client::new(0, &history);
    assert_eq!(client.get(address, "/").await.group(), Some(NEW));
    let pin = client.jar.value(COOKIE).map(str::to_owned);
    fleet.kill(NEW);
    ready(&replica, NEW, 0).await;

    let waits = client.get(address, "/").await;
    assert_eq!(
        waits.status,
        StatusCode::SERVICE_UNAVAILABLE,
        "within the grace it waits"
    );
    assert_eq!(
        waits.json()["type"],
        "no-ready-endpoint",
        "{}",
        waits.json()
    );
    assert!(waits.headers.contains_key("retry-after"));
    assert_eq!(
        client.jar.value(COOKIE).map(str::to_owned),
        pin,
        "the pin is kept"
    );
    let refused = Client::new(1, &history).get(address, "/").await;
    assert_eq!(
        refused.status,
        StatusCode::SERVICE_UNAVAILABLE,
        "weight 0 is never a spare"
    );
    assert_eq!(
        refused.cookies(),
        Vec::<String>::new(),
        "a refusal gave a pin"
    );

    replica.admin.weights(&json!({ OLD: 1 })).await.accepted();
    let moved = until("the loss of the group", async || {
        let answer = client.get(address, "/").await;
        (answer.status == StatusCode::OK).then_some(answer)
    })
    .await;
    assert_eq!(moved.group(), Some(OLD));
    assert_eq!(
        fleet.ledger().of(moved.request).decision(),
        "moved; cause=group_down"
    );
    assert_eq!(client.get(address, "/").await.group(), Some(OLD));
    assert_eq!(
        replica.admin.group(NEW).await["state"],
        "active",
        "an outage is no abort"
    );
    history.balances(fleet.ledger());
}

/// Who fills our table of descriptors must not have every endpoint taken out by it.
#[tokio::test]
async fn checks_that_we_cannot_make_take_no_endpoint_out() {
    let fleet = Fleet::start(&[OLD, NEW], 2).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]);
    config.sections = HEALTH.to_owned();
    let process = Process::start(&config.write(&dir, "gateway.toml")).await;
    let ready = |samples: &Samples| samples.sum("affinity_endpoint_state", &[("state", "ready")]);
    until("the first checks of all endpoints", async || {
        (ready(&process.admin().samples().await) == 4.0).then_some(())
    })
    .await;
    process.limit_files(3).await;
    sleep(Duration::from_secs(1)).await;
    process.limit_files(1024).await;
    let samples = process.admin().samples().await;
    let checks = |result| samples.sum("affinity_health_checks_total", &[("result", result)]);
    assert!(checks("unasked") >= 4.0, "it had descriptors");
    assert_eq!(checks("error"), 0.0, "endpoints are blamed");
    assert_eq!(ready(&samples), 4.0);
}
