//! Several gateways that know of each other, by the real binary's verbs.

use std::sync::Arc;

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::{Ended, run};
use affinity_tests::replica::Replica;
use affinity_tests::{Scratch, until};
use serde_json::Value;
use tower_affinity_testing::engine::{Fault, MemoryEngine};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

struct Stage {
    engine: MemoryEngine,
    config: Config,
    dir: Scratch,
    _fleet: Fleet,
}

impl Stage {
    async fn new() -> Self {
        let fleet = Fleet::start(&[OLD, NEW], 1).await;
        Self {
            engine: MemoryEngine::new(),
            config: Config::new(&fleet, &[(OLD, 1), (NEW, 0)]),
            dir: Scratch::new(),
            _fleet: fleet,
        }
    }

    async fn join(&mut self, name: &str) -> Replica {
        self.config.state = format!("{name}.json");
        let engine = Arc::new(self.engine.link());
        let replica = Replica::join(&self.dir, &self.config, &format!("{name}.toml"), engine).await;
        // it has spoken, and heard itself
        until("it is ready", async || {
            (replica.admin.get("/readyz").await.status == 200).then_some(())
        })
        .await;
        replica
    }
}

async fn rollout(at: &Replica, line: &str) -> Ended {
    let admin = format!("http://{}", at.admin.address());
    let mut args = vec!["rollout", "--admin", &admin];
    args.extend(line.split_whitespace());
    run(&args, &[("AFFINITY_ADMIN_TOKEN", at.admin.token())]).await
}

/// The other replica as `at` has heard it; the name and the state.
async fn other(at: &Replica) -> Option<(String, String)> {
    let told = at.admin.get("/v1/replicas").await.json();
    let replicas = told["replicas"].as_array().expect("a list");
    let other = replicas.iter().find(|one| one["name"] != told["asked"])?;
    let text = |key: &str| other[key].as_str().unwrap().to_owned();
    Some((text("name"), text("state")))
}

#[tokio::test]
async fn replicas_are_listed_with_their_admin_sides() {
    let mut stage = Stage::new().await;
    let (one, two) = (stage.join("one").await, stage.join("two").await);
    let table = rollout(&two, "replicas").await;
    assert_eq!((table.code, table.stderr.as_str()), (0, ""), "{table:?}");
    for replica in [&one, &two] {
        let admin = format!("http://{}", replica.admin.address());
        let row = table.stdout.lines().find(|line| line.contains(&admin));
        let row = row.unwrap_or_else(|| panic!("no row of {admin}: {}", table.stdout));
        assert!(row.contains("alive") && row.contains("2026-11"), "{row}");
    }
    let json = rollout(&two, "replicas --json").await;
    let json: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json["replicas"].as_array().unwrap().len(), 2, "{json}");
}

#[tokio::test]
async fn a_replica_that_left_can_be_forgotten_and_a_living_one_cannot() {
    let mut stage = Stage::new().await;
    let (one, two) = (stage.join("one").await, stage.join("two").await);
    let (name, state) = other(&two).await.expect("the other one");
    assert_eq!(state, "alive");
    let refused = rollout(&two, &format!("forget-replica {name}")).await;
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (4, ""),
        "{refused:?}"
    );
    assert!(refused.stderr.contains("is alive"), "{}", refused.stderr);

    let drained = one.gateway.shutdown().await;
    assert!(drained.is_clean(), "{drained:?}");
    // a change makes a replica speak, and listen
    assert_eq!(rollout(&two, &format!("weights {NEW}=1")).await.code, 0);
    until("it is heard that the other one left", async || {
        other(&two).await.filter(|(_, state)| state == "left")
    })
    .await;
    let told = rollout(&two, &format!("forget-replica {name}")).await;
    assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{told:?}");
    assert!(told.stdout.contains("is forgotten"), "{}", told.stdout);
    assert_eq!(other(&two).await, None);
    let unknown = rollout(&two, &format!("forget-replica {name}")).await;
    assert_eq!(unknown.code, 1, "{unknown:?}");
    assert!(
        unknown.stderr.contains("no replica is named"),
        "{}",
        unknown.stderr
    );

    stage.engine.all_suffer(Fault::OutOfReach);
    let silent = rollout(&two, "replicas").await;
    assert_eq!(silent.code, 0, "what was heard last is told: {silent:?}");
}

#[tokio::test]
async fn the_only_gateway_knows_no_replica() {
    let stage = Stage::new().await;
    let alone = Replica::start(&stage.dir, &stage.config).await;
    let told = rollout(&alone, "replicas").await;
    assert_eq!(told.code, 0, "{told:?}");
    assert!(
        told.stdout.contains("no replica was heard"),
        "{}",
        told.stdout
    );
    let told = rollout(&alone, "forget-replica 00ff").await;
    assert_eq!(told.code, 1, "{told:?}");
}

#[tokio::test]
async fn a_session_counts_once_at_however_many_replicas_it_is_seen() {
    let mut stage = Stage::new().await;
    let (one, two) = (stage.join("one").await, stage.join("two").await);
    let history = History::default();
    let ways: [&[&Replica]; 3] = [&[&one], &[&two], &[&one, &two]];
    for (number, way) in (0..30).zip(ways.into_iter().cycle()) {
        let mut client = Client::new(number, &history);
        for replica in way.iter().chain(way) {
            client.get(replica.address(), "/").await;
        }
    }
    // a change makes both speak, and listen
    let change = serde_json::json!({ NEW: 1 });
    two.admin.weights(&change).await.accepted();
    // each has seen 20 of the 30, and two of them can look like one
    for replica in [&one, &two] {
        let path = format!("/v1/groups/{OLD}");
        until("both have heard each other", async || {
            let told = replica.admin.get(&path).await.json();
            matches!(told["live_sessions"].as_u64(), Some(29 | 30)).then_some(())
        })
        .await;
    }
    let page = two.admin.samples().await;
    let own = page.sum("affinity_sessions_live", &[("group", OLD)]);
    assert!(
        (19.0..=20.0).contains(&own),
        "a metric is of one replica: {own}"
    );
}
