//! An abort while the state that gateways share is out of reach, by the real binary's verbs.

use std::sync::Arc;

use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::process::{Ended, run};
use affinity_tests::replica::Replica;
use affinity_tests::{Scratch, until};
use serde_json::Value;
use tower_affinity_testing::engine::{Fault, MemoryEngine};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

/// Two gateways that share one state.
struct Stage {
    replicas: [Replica; 2],
    engines: [MemoryEngine; 2],
    _fleet: Fleet,
    _dir: Scratch,
}

impl Stage {
    async fn new() -> Self {
        let fleet = Fleet::start(&[OLD, NEW], 1).await;
        let dir = Scratch::new();
        let first = MemoryEngine::new();
        let engines = [first.link(), first.link()];
        let mut config = Config::new(&fleet, &[(OLD, 50), (NEW, 50)]);
        let start = async |config: &Config, name: &str, engine: &MemoryEngine| {
            Replica::join(&dir, config, name, Arc::new(engine.clone())).await
        };
        let one = start(&config, "one.toml", &engines[0]).await;
        config.state = "other-state.json".to_owned();
        let two = start(&config, "two.toml", &engines[1]).await;
        Self {
            replicas: [one, two],
            engines,
            _fleet: fleet,
            _dir: dir,
        }
    }

    /// `gateway rollout`, with the named replicas as its admin sides.
    async fn rollout(&self, at: &[usize], line: &str) -> Ended {
        let places: Vec<_> = at.iter().map(|at| self.url(*at)).collect();
        let mut args = vec!["rollout"];
        for place in &places {
            args.extend(["--admin", place]);
        }
        args.extend(line.split_whitespace());
        let token = self.replicas[0].admin.token();
        run(&args, &[("AFFINITY_ADMIN_TOKEN", token)]).await
    }

    /// Runs it to a good end; answers what it printed.
    async fn done(&self, at: &[usize], line: &str) -> String {
        let ended = self.rollout(at, line).await;
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (0, ""),
            "{line}: {ended:?}"
        );
        ended.stdout
    }

    fn url(&self, at: usize) -> String {
        format!("http://{}", self.replicas[at].admin.address())
    }

    async fn state(&self, at: usize) -> Value {
        self.replicas[at].admin.group(NEW).await["state"].clone()
    }

    async fn comes_to(&self, at: usize, state: &str) {
        until(&format!("{NEW} {state} at {at}"), async || {
            (self.state(at).await == state).then_some(())
        })
        .await;
    }

    fn cut(&self, at: usize) {
        self.engines[at].suffer(Fault::OutOfReach);
    }

    fn mend(&self, at: usize) {
        self.engines[at].suffer(None);
    }
}

#[tokio::test]
async fn an_abort_out_of_reach_ends_with_5_and_is_passed_on_by_itself() {
    let stage = Stage::new().await;
    stage.cut(0);
    let ended = stage.rollout(&[0], &format!("abort {NEW}")).await;
    assert_eq!(ended.code, 5, "{ended:?}");
    assert!(
        ended.stdout.contains("stays"),
        "no number changed: {}",
        ended.stdout
    );
    assert!(
        ended.stderr.contains("out of reach") && ended.stderr.contains("--admin"),
        "{}",
        ended.stderr
    );
    assert_eq!(stage.state(0).await, "aborted");
    assert_eq!(stage.state(1).await, "active", "nobody told the other one");
    let told = stage.done(&[0], "facts").await;
    assert!(told.contains(NEW) && told.contains("pending"), "{told}");
    let told: Value = serde_json::from_str(&stage.done(&[0], "facts --json").await).unwrap();
    assert_eq!(told["facts"][0]["kind"], "pending", "{told}");
    let refused = stage.rollout(&[0], &format!("weights {NEW}=1")).await;
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (4, ""),
        "{refused:?}"
    );

    stage.mend(0);
    stage.comes_to(1, "aborted").await;
    until("no fact is left", async || {
        stage
            .done(&[0], "facts")
            .await
            .starts_with("no facts")
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_abort_out_of_reach_is_asked_of_every_named_replica() {
    let stage = Stage::new().await;
    stage.cut(0);
    stage.cut(1);
    let told = stage.done(&[0, 1], &format!("abort {NEW}")).await;
    for at in [0, 1] {
        assert!(told.contains(&stage.url(at)), "{told}");
        assert_eq!(stage.state(at).await, "aborted");
    }
    let told = stage.done(&[0, 1], &format!("abort {NEW} --json")).await;
    let told: Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(
        told["replicas"][1]["answer"]["why"], "out-of-reach",
        "{told}"
    );
    assert_eq!(told["replicas"][1]["answer"]["changed"], false, "{told}");
}

#[tokio::test]
async fn one_replica_in_reach_tells_all_of_them() {
    let stage = Stage::new().await;
    stage.cut(0);
    let told = stage.done(&[0, 1], &format!("abort {NEW}")).await;
    assert!(told.contains("in the shared state"), "{told}");
    assert_eq!(stage.state(0).await, "aborted");
    assert_eq!(stage.state(1).await, "aborted");
}

#[tokio::test]
async fn a_replica_that_does_not_answer_is_named_and_the_verb_ends_with_5() {
    let stage = Stage::new().await;
    stage.cut(0);
    let token = stage.replicas[0].admin.token();
    let (here, nobody) = (stage.url(0), "http://127.0.0.1:1");
    let args = ["rollout", "abort", NEW, "--admin", &here, "--admin", nobody];
    let ended = run(&args, &[("AFFINITY_ADMIN_TOKEN", token)]).await;
    assert_eq!(ended.code, 5, "{ended:?}");
    assert!(
        ended.stderr.contains(nobody) && !ended.stderr.contains(&here),
        "{ended:?}"
    );
    assert_eq!(stage.state(0).await, "aborted");
}

#[tokio::test]
async fn a_conflict_waits_for_a_human_who_confirms_it() {
    let stage = Stage::new().await;
    conflict(&stage).await;
    let told = stage.done(&[0], "facts").await;
    assert!(told.contains(&format!("rollout abort {NEW}")), "{told}");
    stage.done(&[0], &format!("abort {NEW}")).await;
    stage.comes_to(1, "aborted").await;
    let told = stage.done(&[0], "facts").await;
    assert!(told.starts_with("no facts"), "{told}");
}

#[tokio::test]
async fn a_conflict_waits_for_a_human_who_drops_it() {
    let stage = Stage::new().await;
    conflict(&stage).await;
    let told = stage.done(&[0], &format!("facts drop {NEW}")).await;
    assert!(
        told.contains("is dropped here") && told.contains("no facts"),
        "{told}"
    );
    assert_eq!(stage.state(0).await, "active");
    assert_eq!(stage.state(1).await, "active");
    let again = stage.rollout(&[0], &format!("facts drop {NEW}")).await;
    assert_eq!((again.code, again.stdout.as_str()), (1, ""), "{again:?}");
}

/// The first replica aborts what the others promote meanwhile.
async fn conflict(stage: &Stage) {
    stage.cut(0);
    assert_eq!(stage.rollout(&[0], &format!("abort {NEW}")).await.code, 5);
    stage.done(&[1], &format!("promote {NEW}")).await;
    stage.done(&[1], &format!("weights {OLD}=1")).await;
    stage.mend(0);
    until("the conflict is noticed", async || {
        stage
            .done(&[0], "facts")
            .await
            .contains("conflict")
            .then_some(())
    })
    .await;
    assert_eq!(stage.state(0).await, "aborted", "it goes on obeying it");
    assert_eq!(stage.state(1).await, "active");
}
