//! A canary that is worse: what an operator, a pipeline and the gateway itself make of it.

use std::sync::Arc;
use std::time::Duration;

use affinity_gateway::events::Kind;
use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::{Ended, run};
use affinity_tests::replica::Replica;
use affinity_tests::{Scratch, until};
use serde_json::{Value, json};
use tower_affinity_testing::engine::MemoryEngine;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

/// Sessions that begin after the step.
const NEWCOMERS: u64 = 300;

async fn rollout(replica: &Replica, line: &str) -> Ended {
    let admin = format!("http://{}", replica.admin.address());
    let mut args = vec!["rollout", "--admin", &admin];
    args.extend(line.split_whitespace());
    run(&args, &[("AFFINITY_ADMIN_TOKEN", replica.admin.token())]).await
}

/// Sessions begin; of those of the canary one in `worse` fails at its second request. Answers how
/// many the canary got, and how many of them failed.
async fn newcomers(replica: &Replica, history: &History, count: u64, worse: u64) -> (u64, u64) {
    let (mut sessions, mut failed) = (0, 0);
    for nth in 0..count {
        let mut client = Client::new(1_000 + nth, history);
        if client.get(replica.address(), "/").await.group() == Some(NEW) {
            sessions += 1;
            if sessions % worse == 0 {
                client.get(replica.address(), "/status/500").await;
                failed += 1;
            }
        }
    }
    (sessions, failed)
}

#[tokio::test]
async fn a_worse_canary_is_seen_though_all_requests_call_it_better() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1), (NEW, 0)])).await;
    let history = History::default();
    let mut established: Vec<_> = (0..30).map(|nth| Client::new(nth, &history)).collect();
    for client in &mut established {
        client.get(replica.address(), "/").await;
    }
    let alone = rollout(&replica, "analyze --gate no_worse").await;
    assert_eq!(alone.code, 4, "there is nothing to judge: {alone:?}");

    let step = replica.admin.weights(&json!({ OLD: 1, NEW: 1 })).await;
    step.accepted();
    for client in &mut established {
        for _ in 0..10 {
            client.get(replica.address(), "/status/500").await;
        }
    }
    let early = rollout(&replica, "analyze --gate no_worse --timeout 10ms").await;
    assert_eq!(early.code, 3, "nobody has come yet: {early:?}");
    let (sessions, failed) = newcomers(&replica, &history, NEWCOMERS, 5).await;

    let analysis: Value = replica.admin.get("/v1/analysis").await.json();
    let canary = &analysis["canaries"][0];
    assert_eq!(analysis["step_revision"], json!(step.revision()));
    assert_eq!(
        (&canary["group"], &canary["verdict"], &canary["needed"]),
        (&json!(NEW), &json!("worse"), &json!(0)),
        "{analysis:#}"
    );
    assert_eq!(canary["counts"]["sessions"], json!(sessions), "{canary}");
    assert_eq!(canary["counts"]["failed"], json!(failed), "{canary}");
    let stable = &analysis["stable"];
    let counts = (&stable["counts"]["sessions"], &stable["counts"]["failed"]);
    let others = NEWCOMERS - sessions;
    assert_eq!(counts, (&json!(others), &json!(0)), "{stable}");
    let naive = canary["naive"]["difference"].as_f64().expect("a number");
    assert!(naive < -0.2, "all requests call it better: {canary}");

    let told = rollout(&replica, "analyze").await;
    assert_eq!(told.code, 0, "{told:?}");
    assert!(
        told.stdout.contains("c3d4e5f is worse than 9f1c2ab"),
        "{told:?}"
    );
    let gate = rollout(&replica, "analyze --gate no_worse --timeout 10s").await;
    assert_eq!((gate.code, gate.stdout.as_str()), (4, ""), "{gate:?}");
    let machine = rollout(&replica, "analyze --json").await;
    let machine: Value = serde_json::from_str(&machine.stdout).expect("JSON");
    assert_eq!(machine["canaries"][0]["verdict"], "worse");

    let control = replica.gateway.control();
    let event = until("the verdict is an event", async || {
        let mut events = control.events().after(None).into_iter();
        events.find(|event| event.kind == Kind::Verdict)
    })
    .await;
    assert_eq!(event.group.as_ref().map(|group| group.as_str()), Some(NEW));
    assert!(event.text.contains("worse than 9f1c2ab"), "{}", event.text);
    let samples = replica.admin.samples().await;
    for (verdict, expected) in [("worse", 1.0), ("not_enough_yet", 0.0), ("no_worse", 0.0)] {
        let labels = [("group", NEW), ("verdict", verdict)];
        let shown = samples.sum("affinity_canary_verdict", &labels);
        assert!((shown - expected).abs() < 0.5, "{verdict}: {shown}");
    }
    let life = replica.admin.group(NEW).await;
    assert_eq!(life["state"], "active", "nobody has asked for more");
}

#[tokio::test]
async fn a_worse_canary_is_aborted_once_where_that_is_wanted() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]);
    config.sections = "[analysis]\nabort_on_worse = true\n".to_owned();
    let replica = Replica::start(&dir, &config).await;
    let history = History::default();
    let before = replica.admin.rollout().await["revision"].clone();
    newcomers(&replica, &history, NEWCOMERS, 4).await;
    until("the canary is aborted", async || {
        let life = replica.admin.group(NEW).await;
        (life["state"] == "aborted").then_some(())
    })
    .await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let events = replica.gateway.control().events().after(None);
    let aborts: Vec<_> = events
        .iter()
        .filter(|event| event.text.starts_with("abort by analysis"))
        .collect();
    assert_eq!(aborts.len(), 1, "{events:?}");
    let after = replica.admin.rollout().await["revision"].clone();
    assert_eq!(after.as_u64(), before.as_u64().map(|revision| revision + 1));
    let gate = rollout(&replica, "analyze --gate no_worse").await;
    assert_eq!(gate.code, 4, "an aborted canary has not passed: {gate:?}");
}

#[tokio::test]
async fn replicas_judge_what_all_of_them_have_counted() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dirs = [Scratch::new(), Scratch::new()];
    let config = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]);
    let engine = Arc::new(MemoryEngine::default());
    let history = History::default();
    let mut replicas = Vec::new();
    for (dir, name) in dirs.iter().zip(["one.toml", "two.toml"]) {
        let engine = Arc::clone(&engine);
        replicas.push(Replica::join(dir, &config, name, engine).await);
    }
    let mut all = 0;
    for replica in &replicas {
        newcomers(replica, &history, 50, 5).await;
        all += 50;
    }
    for replica in &replicas {
        // each says what it has counted every ten seconds
        let sum = until("the others were heard", async || {
            let analysis: Value = replica.admin.get("/v1/analysis").await.json();
            let sessions = |counted: &Value| counted["counts"]["sessions"].as_u64();
            let sum = sessions(&analysis["stable"])? + sessions(&analysis["canaries"][0])?;
            (sum >= all).then_some(sum)
        })
        .await;
        assert_eq!(sum, all, "no session is counted twice");
    }
}
