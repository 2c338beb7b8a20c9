//! The engine in memory is an engine, and fails as it is told.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, advance, timeout};
use tower_affinity_core::{Engine, Replaced, Stored, Version};

use super::{Fault, MemoryEngine, conform};

const LONG: Duration = Duration::from_secs(3_600);

async fn with_document(text: &str) -> (MemoryEngine, Version) {
    let engine = MemoryEngine::new();
    match engine.replace(Version::NONE, text.into()).await.unwrap() {
        Replaced::Done(version) => (engine, version),
        Replaced::Lost => panic!("a new engine is empty"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_engine_in_memory_fulfils_the_contract() {
    let services: Mutex<BTreeMap<String, MemoryEngine>> = Mutex::default();
    conform(|service: &str| {
        let mut services = services.lock().unwrap_or_else(PoisonError::into_inner);
        services.entry(service.to_owned()).or_default().link()
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn out_of_reach_fails_every_call_of_that_link_only() {
    let (engine, version) = with_document("first").await;
    let other = engine.link();
    other.suffer(Fault::OutOfReach);
    assert!(other.read().await.is_err());
    assert!(other.replace(version, "second".into()).await.is_err());
    assert!(other.changed(version).await.is_err());
    assert!(other.announce("r", String::new(), LONG).await.is_err());
    assert!(other.depart("r", String::new()).await.is_err());
    assert!(other.forget("r").await.is_err());
    assert!(other.records().await.is_err());
    assert_eq!(engine.read().await.unwrap().version, version);
    assert_eq!(engine.records().await.unwrap(), []);
    other.suffer(None);
    assert_eq!(other.read().await.unwrap().version, version);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_change_is_told_of_a_broken_link() {
    let (engine, version) = with_document("first").await;
    let (changed, ()) = tokio::join!(engine.changed(version), async {
        tokio::task::yield_now().await;
        engine.all_suffer(Fault::OutOfReach);
    });
    assert!(changed.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_silent_engine_answers_and_does_nothing_until_it_is_back() {
    let (engine, version) = with_document("first").await;
    engine.all_suffer(Fault::Silent);
    let other = engine.link();
    assert!(timeout(LONG, other.read()).await.is_err());
    let mut replaced = other.replace(version, "second".into());
    assert!(timeout(LONG, &mut replaced).await.is_err());
    assert_eq!(engine.stored().version, version);
    engine.all_suffer(None);
    assert!(matches!(replaced.await, Ok(Replaced::Done(_))));
}

#[tokio::test(start_paused = true)]
async fn a_silent_link_hides_changes() {
    let (engine, version) = with_document("first").await;
    let other = engine.link();
    other.suffer(Fault::Silent);
    let mut changed = other.changed(version);
    engine.replace(version, "second".into()).await.unwrap();
    assert!(timeout(LONG, &mut changed).await.is_err());
    other.suffer(None);
    assert_eq!(changed.await.unwrap(), engine.stored());
}

#[tokio::test(start_paused = true)]
async fn a_slow_engine_has_its_effect_late() {
    let (engine, version) = with_document("first").await;
    engine.suffer(Fault::Slow(LONG));
    let begin = Instant::now();
    let mut replaced = engine.replace(version, "second".into());
    assert!(timeout(LONG / 2, &mut replaced).await.is_err());
    assert_eq!(engine.stored().version, version);
    assert!(matches!(replaced.await, Ok(Replaced::Done(_))));
    assert_eq!(begin.elapsed(), LONG);
}

#[tokio::test(start_paused = true)]
async fn a_lie_is_told_to_that_link_only() {
    let (engine, version) = with_document("first").await;
    let liar = engine.link();
    let lie = Stored {
        document: Some("older".into()),
        version: Version::NONE,
    };
    liar.suffer(Fault::Lies(lie.clone()));
    assert_eq!(liar.read().await.unwrap(), lie);
    assert_eq!(liar.changed(version).await.unwrap(), lie);
    assert_eq!(engine.read().await.unwrap(), engine.stored());
    // what is written meets the truth
    let replaced = liar.replace(Version::NONE, "second".into()).await;
    assert_eq!(replaced.unwrap(), Replaced::Lost);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_an_error_of_one_replacement_that_is_done() {
    let (engine, version) = with_document("first").await;
    engine.lose_next_answer();
    assert!(engine.replace(version, "second".into()).await.is_err());
    let second = engine.stored();
    assert_eq!(second.document.as_deref(), Some("second"));
    let replaced = engine.replace(second.version, "third".into()).await;
    assert!(matches!(replaced, Ok(Replaced::Done(_))));
}

#[tokio::test(start_paused = true)]
async fn a_restored_engine_counts_on_from_the_earlier_version() {
    let (engine, first) = with_document("first").await;
    let backup = engine.stored();
    let second = engine.replace(first, "second".into()).await.unwrap();
    engine.restore(backup.clone());
    assert_eq!(engine.read().await.unwrap(), backup);
    let again = engine.replace(first, "other".into()).await.unwrap();
    assert_eq!(again, second);
}

#[tokio::test(start_paused = true)]
async fn a_lease_runs_in_the_time_of_tokio() {
    let engine = MemoryEngine::new();
    engine.announce("r", String::new(), LONG).await.unwrap();
    let alive = async || engine.records().await.unwrap().iter().all(|r| r.alive);
    advance(LONG - Duration::from_millis(1)).await;
    assert!(alive().await);
    advance(Duration::from_millis(1)).await;
    assert!(!alive().await);
}
