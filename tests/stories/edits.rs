//! The watched file: what an edit changes in a running gateway, and what it cannot.

use std::path::Path;

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::Process;
use affinity_tests::{Scratch, until};
use serde_json::json;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

/// The real binary with its watched file.
struct Stage {
    fleet: Fleet,
    dir: Scratch,
    config: Config,
    process: Process,
}

impl Stage {
    async fn new(old: u16, new: u16) -> Self {
        let fleet = Fleet::start(&[OLD, NEW], 2).await;
        let dir = Scratch::new();
        let config = Config::new(&fleet, &[(OLD, old), (NEW, new)]);
        let process = Process::start(&config.write(&dir, "gateway.toml")).await;
        Self {
            fleet,
            dir,
            config,
            process,
        }
    }

    fn edit(&self, text: &str) {
        self.dir.write("gateway.toml", text);
    }

    async fn revision(&self) -> u64 {
        self.process.admin().rollout().await["revision"]
            .as_u64()
            .unwrap()
    }

    async fn rejected(&self) -> f64 {
        self.process
            .admin()
            .samples()
            .await
            .sum("affinity_config_rejected_total", &[])
    }

    /// Waits for a refusal; answers what was logged of it.
    async fn refusal(&self, edit: &str) -> String {
        let (rejected, logged) = (self.rejected().await, self.process.log().len());
        self.edit(edit);
        until("a rejected edit", async || {
            (self.rejected().await > rejected).then_some(())
        })
        .await;
        until("a log of the rejected edit", async || {
            let log = self.process.log();
            log[logged..]
                .lines()
                .find(|line| line.contains("rejected"))
                .map(str::to_owned)
        })
        .await
    }

    async fn weight(&self, group: &str, weight: u16) {
        until(&format!("weight {weight} of {group}"), async || {
            (self.process.admin().group(group).await["weight"] == weight).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn an_edited_weight_becomes_one_change_and_moves_nobody() {
    let mut stage = Stage::new(1, 0).await;
    let history = History::default();
    let mut client = Client::new(0, &history);
    let address = stage.process.address();
    client.get(address, "/").await;
    let before = stage.revision().await;
    assert_eq!(before, stage.process.revision());
    stage.config.group(OLD).weight = 0;
    stage.config.group(NEW).weight = 20;
    stage.edit(&stage.config.text());
    stage.weight(NEW, 20).await;
    assert_eq!(stage.revision().await, before + 1, "one edit is one change");
    assert_eq!(
        Client::new(1, &history).get(address, "/").await.group(),
        Some(NEW)
    );
    assert_eq!(
        client.get(address, "/").await.group(),
        Some(OLD),
        "an edit moved a session"
    );
}

#[tokio::test]
async fn a_bad_edit_changes_nothing_and_is_told_with_its_line() {
    let stage = Stage::new(1, 0).await;
    let before = stage.process.admin().rollout().await;
    let text = stage.config.text();
    let line = text
        .lines()
        .position(|line| line == "weight = 0")
        .expect("a weight")
        + 1;
    let log = stage
        .refusal(&text.replace("weight = 0", "weight = -1"))
        .await;
    assert!(
        log.contains(&format!(":{line}")) || log.contains(&format!("line {line}")),
        "{log}"
    );
    assert!(
        log.contains("weight") && log.contains("-1"),
        "key or value is missing: {log}"
    );
    stage.refusal(&text[..text.len() / 2]).await;
    stage.refusal("").await;
    let log = stage.refusal(&text.replace("checkout", "another")).await;
    assert!(log.contains("service") && log.contains("restart"), "{log}");
    assert_eq!(
        stage.process.admin().rollout().await,
        before,
        "a refused edit changed something"
    );
    // the good file again is no change, and no refusal
    let rejected = stage.rejected().await;
    stage.edit(&text.replace("weight = 0", "weight = 3"));
    stage.weight(NEW, 3).await;
    assert_eq!(stage.rejected().await, rejected);
}

#[tokio::test]
async fn an_unedited_value_never_overrides_a_verb_and_no_edit_lifts_an_abort() {
    let mut stage = Stage::new(90, 10).await;
    let admin = stage.process.admin().clone();
    admin.weights(&json!({ OLD: 50, NEW: 50 })).await.accepted();
    // something else in the file is edited
    stage.config.group(OLD).more = "max_in_flight = 100".to_owned();
    stage.config.group(NEW).endpoints.truncate(1);
    stage.edit(&stage.config.text());
    until("one endpoint less", async || {
        let endpoints = admin.group(NEW).await["endpoints"]
            .as_array()
            .unwrap()
            .len();
        (endpoints == 1).then_some(())
    })
    .await;
    assert_eq!(
        admin.group(NEW).await["weight"],
        50,
        "an unedited weight came back"
    );

    admin.verb(NEW, "abort", &json!({})).await.accepted();
    stage.config.group(NEW).weight = 30;
    let log = stage.refusal(&stage.config.text()).await;
    assert!(log.contains(NEW) && log.contains("aborted"), "{log}");
    stage.config.group(NEW).weight = 10;
    stage.config.group(NEW).more = "state = \"staged\"".to_owned();
    stage.refusal(&stage.config.text()).await;
    assert_eq!(
        admin.group(NEW).await["state"],
        "aborted",
        "an edit lifted an abort"
    );
}

#[tokio::test]
async fn endpoints_are_edited_without_a_revision() {
    let mut stage = Stage::new(1, 0).await;
    let before = stage.revision().await;
    let added = stage.fleet.add(OLD).await;
    stage.config.group(OLD).endpoints = vec![added];
    stage.edit(&stage.config.text());
    let admin = stage.process.admin();
    until("the new endpoint", async || {
        (admin.group(OLD).await["endpoints"][0]["address"] == json!(added)).then_some(())
    })
    .await;
    assert_eq!(stage.revision().await, before);
    let history = History::default();
    for number in 0..6 {
        let answer = Client::new(number, &history)
            .get(stage.process.address(), "/")
            .await;
        assert_eq!(
            answer.json()["endpoint"],
            "9f1c2ab-3",
            "a removed endpoint was dialled"
        );
    }
}

#[tokio::test]
async fn a_block_of_a_live_group_cannot_be_removed() {
    let mut stage = Stage::new(1, 1).await;
    let before = stage.process.admin().rollout().await;
    stage.config.groups.truncate(1);
    let log = stage.refusal(&stage.config.text()).await;
    assert!(log.contains(NEW) && log.contains("drain it first"), "{log}");
    assert_eq!(stage.process.admin().rollout().await, before);
}

#[tokio::test]
async fn a_new_block_is_a_new_group() {
    let mut stage = Stage::new(1, 0).await;
    let address = stage.fleet.add("0a1b2c3").await;
    let block = Config::new(&stage.fleet, &[("0a1b2c3", 9)])
        .groups
        .remove(0);
    stage.config.groups.push(block);
    stage.config.group("0a1b2c3").stable = false;
    stage.edit(&stage.config.text());
    until("the new group", async || {
        let rollout = stage.process.admin().rollout().await;
        (rollout["groups"].as_array().unwrap().len() == 3).then_some(())
    })
    .await;
    let group = stage.process.admin().group("0a1b2c3").await;
    assert_eq!(group["endpoints"][0]["address"], json!(address));
    assert_eq!(
        (&group["state"], &group["weight"]),
        (&json!("active"), &json!(9))
    );
    assert!(Path::new(&stage.dir.path().join("gateway-state.json")).exists());
}
