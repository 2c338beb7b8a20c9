//! A service that follows the state which gateways share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tokio::time::sleep;
use tower_affinity::Groups;
use tower_affinity::core::{
    Announced, Engine, EngineFuture, Replaced, Revision, Rollout, SharedState, Stored, Timestamp,
    Version,
};
use tower_affinity::record::Recorder;
use tower_affinity::shared::{SharedRollout, SharedRolloutError};
use tower_affinity_testing::engine::{Fault, MemoryEngine};
use tower_affinity_testing::{START, name, rollout};

/// Writes a state as a gateway does, with an address of A that ends in the revision.
async fn write(engine: &MemoryEngine, rollout: &Rollout) {
    let address = format!("10.0.0.{}:3000", rollout.revision().0);
    let state = SharedState {
        endpoints: BTreeMap::from([(name("A"), vec![address.parse().unwrap()])]),
        rollout: rollout.clone(),
        write: 1,
    };
    let document = state.to_document(&"checkout".parse().unwrap());
    put(engine, document).await;
}

async fn put(engine: &MemoryEngine, document: String) {
    let version = engine.read().await.unwrap().version;
    engine.replace(version, document).await.unwrap();
}

fn shared(engine: &MemoryEngine) -> SharedRollout<MemoryEngine> {
    SharedRollout::new(engine.link(), "checkout".parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_state_that_a_gateway_writes_is_in_force_at_once_with_its_endpoints() {
    let engine = MemoryEngine::new();
    write(&engine, &rollout(10, &[("A", 1)])).await;
    let peers = Groups::default();
    let rollouts = shared(&engine).peers(peers.clone()).follow().await.unwrap();
    let address = || peers.endpoints(&name("A"))[0].address().to_string();
    assert_eq!(rollouts.current().revision(), Revision(10));
    assert_eq!(address(), "10.0.0.10:3000");
    write(&engine, &rollout(11, &[("A", 1), ("B", 1)])).await;
    sleep(Duration::from_millis(50)).await;
    assert_eq!(*rollouts.current(), rollout(11, &[("A", 1), ("B", 1)]));
    assert_eq!(address(), "10.0.0.11:3000");
}

#[tokio::test(start_paused = true)]
async fn a_damaged_lower_or_foreign_state_changes_nothing() {
    let foreign = {
        let state = SharedState {
            rollout: rollout(99, &[("Z", 1)]),
            endpoints: BTreeMap::new(),
            write: 1,
        };
        state.to_document(&"billing".parse().unwrap())
    };
    let engine = MemoryEngine::new();
    write(&engine, &rollout(10, &[("A", 1)])).await;
    let rollouts = shared(&engine).follow().await.unwrap();
    let before = rollouts.current();
    for bad in ["", "{}", "no json", &foreign] {
        put(&engine, bad.to_owned()).await;
        sleep(Duration::from_secs(12)).await;
        assert_eq!(*rollouts.current(), *before, "{bad}");
    }
    write(&engine, &rollout(9, &[("B", 1)])).await;
    sleep(Duration::from_secs(12)).await;
    assert_eq!(*rollouts.current(), *before, "a lower revision counted");
    write(&engine, &rollout(12, &[("B", 1)])).await;
    sleep(Duration::from_millis(50)).await;
    assert_eq!(rollouts.current().revision(), Revision(12), "it stuck");
}

/// How many states were refused since the last time.
fn refused(snapshotter: &Snapshotter) -> u64 {
    let all = snapshotter.snapshot().into_vec().into_iter();
    let refused = all.filter(|(key, ..)| key.key().name() == "affinity_inputs_rejected_total");
    let counts = refused.map(|(.., value)| match value {
        DebugValue::Counter(count) => count,
        other => panic!("no counter: {other:?}"),
    });
    counts.sum()
}

#[tokio::test(start_paused = true)]
async fn a_state_that_cannot_be_used_is_counted_once_and_one_of_the_past_not_at_all() {
    let engine = MemoryEngine::new();
    write(&engine, &rollout(10, &[("A", 1)])).await;
    let metrics = DebuggingRecorder::new();
    let snapshotter = metrics.snapshotter();
    let shared = shared(&engine).recorder(Recorder::new(Arc::new(metrics)));
    let rollouts = shared.follow().await.unwrap();
    for what in ["damaged", "damaged again"] {
        put(&engine, what.to_owned()).await;
        sleep(Duration::from_secs(30)).await;
        assert_eq!(refused(&snapshotter), 1, "{what}");
    }
    write(&engine, &rollout(9, &[("B", 1)])).await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(refused(&snapshotter), 0, "a lower revision");
    assert_eq!(rollouts.current().revision(), Revision(10));
}

/// An engine that never tells of a change, as one that was set back.
#[derive(Debug)]
struct Mute(MemoryEngine);

impl Engine for Mute {
    fn read(&self) -> EngineFuture<'_, Stored> {
        self.0.read()
    }

    fn replace(&self, version: Version, document: String) -> EngineFuture<'_, Replaced> {
        self.0.replace(version, document)
    }

    fn changed(&self, _: Version) -> EngineFuture<'_, Stored> {
        Box::pin(std::future::pending())
    }

    fn announce<'a>(
        &'a self,
        replica: &'a str,
        record: String,
        lapse: Duration,
    ) -> EngineFuture<'a, ()> {
        self.0.announce(replica, record, lapse)
    }

    fn depart<'a>(&'a self, replica: &'a str, record: String) -> EngineFuture<'a, ()> {
        self.0.depart(replica, record)
    }

    fn forget<'a>(&'a self, replica: &'a str) -> EngineFuture<'a, bool> {
        self.0.forget(replica)
    }

    fn records(&self) -> EngineFuture<'_, Vec<Announced>> {
        self.0.records()
    }
}

#[tokio::test(start_paused = true)]
async fn a_pin_above_the_revision_has_a_state_read_that_nobody_tells_of() {
    let engine = MemoryEngine::new();
    write(&engine, &rollout(10, &[("A", 1)])).await;
    let shared = SharedRollout::new(Mute(engine.link()), "checkout".parse().unwrap());
    let rollouts = shared.follow().await.unwrap();
    write(&engine, &rollout(11, &[("A", 1)])).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(rollouts.current().revision(), Revision(10), "nobody asked");
    rollouts.seen(Revision(11), Timestamp::from_secs(START));
    // far less than the ten seconds after which it is read anyway
    sleep(Duration::from_secs(1)).await;
    assert_eq!(rollouts.current().revision(), Revision(11));
}

#[tokio::test(start_paused = true)]
async fn while_the_engine_is_silent_the_last_state_stays_and_then_it_is_followed_again() {
    let engine = MemoryEngine::new();
    write(&engine, &rollout(10, &[("A", 1)])).await;
    let link = engine.link();
    let service = "checkout".parse().unwrap();
    let rollouts = SharedRollout::new(link, service).follow().await.unwrap();
    engine.all_suffer(Fault::OutOfReach);
    rollouts.seen(Revision(15), Timestamp::from_secs(START));
    sleep(Duration::from_secs(30)).await;
    assert_eq!(
        rollouts.current().revision(),
        Revision(10),
        "raised by a pin"
    );
    engine.all_suffer(None);
    write(&engine, &rollout(11, &[("A", 1)])).await;
    sleep(Duration::from_secs(11)).await;
    assert_eq!(rollouts.current().revision(), Revision(11));
}

#[tokio::test(start_paused = true)]
async fn without_a_state_nothing_starts() {
    let engine = MemoryEngine::new();
    let missing = shared(&engine).follow().await;
    assert!(
        matches!(missing, Err(SharedRolloutError::Missing)),
        "{missing:?}"
    );
    let replaced = engine.replace(Version::NONE, "{}".to_owned()).await;
    replaced.unwrap();
    let bad = shared(&engine).follow().await;
    assert!(matches!(bad, Err(SharedRolloutError::State(_))), "{bad:?}");
}

#[tokio::test(start_paused = true)]
async fn following_ends_with_the_last_handle() {
    let engine = MemoryEngine::new();
    write(&engine, &rollout(10, &[("A", 1)])).await;
    let rollouts = shared(&engine).follow().await.unwrap();
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    assert_eq!(tasks(), 2);
    drop(rollouts);
    sleep(Duration::from_secs(25)).await;
    assert_eq!(tasks(), 0, "the engine is asked for nobody");
}
