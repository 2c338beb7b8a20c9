//! A store that is slow or away holds nobody up.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tower_affinity_core::{
    Claim, Clock, GroupId, Lifetimes, LiveCounts, PinStore, Revision, RowFault, RowKey, SessionId,
    SessionPin, StoreCall, StoreError, Terms, Timestamp,
};
use tower_affinity_testing::{START, name};

use super::{GuardedStore, PATIENCE, Sleep, Timer};

#[derive(Debug)]
struct Tokio;

impl Timer for Tokio {
    fn sleep(&self, span: Duration) -> Sleep {
        Box::pin(sleep(span))
    }
}

/// The paused clock of the runtime, as a time of day.
#[derive(Debug)]
struct Paused(Instant);

impl Clock for Paused {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(START).plus(self.0.elapsed())
    }
}

/// How a store behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Well,
    Slow(Duration),
    Failing,
    Silent,
}

#[derive(Debug)]
struct Server {
    mood: Mutex<Mood>,
    asked: AtomicUsize,
}

impl Server {
    fn is(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::SeqCst)
    }

    fn call<T: Send + 'static>(&self, value: T) -> StoreCall<T> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mood = *self.mood.lock().unwrap();
        StoreCall::later(async move {
            match mood {
                Mood::Well => Ok(value),
                Mood::Slow(span) => {
                    sleep(span).await;
                    Ok(value)
                }
                Mood::Failing => Err(StoreError::new("refused")),
                Mood::Silent => std::future::pending().await,
            }
        })
    }
}

impl PinStore for Server {
    fn load(&self, _: RowKey, _: Terms) -> StoreCall<Option<SessionPin>> {
        self.call(None)
    }

    fn claim(&self, claim: Claim) -> StoreCall<SessionPin> {
        self.call(claim.pin)
    }

    fn replace(&self, _: RowKey, pin: SessionPin, _: Terms) -> StoreCall<SessionPin> {
        self.call(pin)
    }

    fn remove(&self, _: RowKey, _: SessionId) -> StoreCall<()> {
        self.call(())
    }

    fn absent(&self, _: RowFault) -> u64 {
        0
    }

    fn live(&self, _: Timestamp) -> LiveCounts {
        LiveCounts::Unknown
    }

    fn upkeep(&self, _: Timestamp) -> StoreCall<()> {
        self.call(())
    }
}

fn guarded() -> (GuardedStore, Arc<Server>) {
    let server = Arc::new(Server {
        mood: Mutex::new(Mood::Well),
        asked: AtomicUsize::new(0),
    });
    let clock = Arc::new(Paused(Instant::now()));
    let store = GuardedStore::new(Arc::new(Arc::clone(&server)), Tokio).clock(clock);
    (store, server)
}

/// Asks once: whether it was answered, and how long that took.
async fn ask(store: &GuardedStore) -> (bool, Duration) {
    let begun = Instant::now();
    let session = SessionId::from_random(7);
    let now = Timestamp::from_secs(START);
    let lifetimes = Lifetimes::default();
    let group = GroupId::new(name("A"), 1);
    let pin = SessionPin::new(session, group, Revision(1), now, lifetimes);
    let claim = Claim {
        key: RowKey::Session(session),
        pin,
        terms: Terms { now, lifetimes },
        evicts: true,
    };
    (store.claim(claim).await.is_ok(), begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_is_waited_for_and_a_late_one_is_not() {
    let (store, server) = guarded();
    let almost = PATIENCE - Duration::from_millis(1);
    server.is(Mood::Slow(almost));
    assert_eq!(ask(&store).await, (true, almost));
    server.is(Mood::Silent);
    assert_eq!(ask(&store).await, (false, PATIENCE));
    let patient = store.clone().patience(Duration::from_millis(50));
    assert_eq!(ask(&patient).await, (false, Duration::from_millis(50)));
}

/// F35: the first failures cost the patience at most, the others nothing.
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_left_alone_and_found_again() {
    for mood in [Mood::Silent, Mood::Failing] {
        let (store, server) = guarded();
        for _ in 0..20 {
            ask(&store).await;
        }
        sleep(Duration::from_secs(1)).await;
        server.is(mood);
        let mut waited = Duration::ZERO;
        for _ in 0..100 {
            let (ok, took) = ask(&store).await;
            assert!(!ok);
            waited += took;
        }
        assert!(waited <= PATIENCE * 5, "{mood:?} has cost {waited:?}");
        assert!(!store.is_asked());
        assert_eq!(server.asked(), 25, "{mood:?}: it was not left alone");
        // one trial a second or less often, however many ask
        for _ in 0..1_000 {
            ask(&store).await;
            sleep(Duration::from_millis(10)).await;
        }
        let trials = server.asked();
        assert!(
            (5..=10).contains(&trials),
            "{mood:?}: {trials} trials in ten seconds"
        );
        server.is(Mood::Well);
        let begun = Instant::now();
        while !ask(&store).await.0 {
            sleep(Duration::from_millis(10)).await;
        }
        let found = begun.elapsed();
        assert!(
            found <= Duration::from_millis(1_550),
            "found again after {found:?}"
        );
        assert!(store.is_asked());
        assert_eq!(server.asked(), 1, "a herd came with the trial");
    }
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_waiting_says_nothing_about_the_store() {
    let (store, server) = guarded();
    server.is(Mood::Silent);
    for _ in 0..20 {
        let waiting = tokio::time::timeout(Duration::from_millis(5), ask(&store));
        assert!(waiting.await.is_err());
    }
    assert!(store.is_asked(), "clients that went away have opened it");
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_every_trial_keeps_the_store_from_nobody() {
    let (store, server) = guarded();
    server.is(Mood::Failing);
    for _ in 0..5 {
        ask(&store).await;
    }
    assert!(!store.is_asked());
    server.is(Mood::Slow(Duration::from_millis(5)));
    sleep(Duration::from_millis(1_500)).await;
    server.asked();
    for _ in 0..100 {
        let left = tokio::time::timeout(Duration::from_millis(1), ask(&store)).await;
        assert!(left.map_or(true, |(ok, _)| !ok), "none of them waits");
        sleep(Duration::from_millis(9)).await;
    }
    let trials = server.asked();
    assert!((10..=20).contains(&trials), "{trials} trials in a second");
    sleep(Duration::from_millis(60)).await;
    assert!(
        ask(&store).await.0,
        "a client that waits is not let through"
    );
    assert!(store.is_asked());
}
