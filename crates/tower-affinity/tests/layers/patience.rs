//! How long a request waits for its store of assignments, over all that it has to say to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tower_affinity::core::{
    Claim, Clock, GroupId, GroupRef, LiveCounts, PinStore, RowFault, RowKey, SessionId, SessionPin,
    StoreCall, Terms, Timestamp,
};
use tower_affinity::store::{GuardedStore, PATIENCE, Sleep, Timer};
use tower_affinity_testing::{HandClock, START, name, rollout};

use crate::support::{COOKIE_NAME, K1, Seen, Site, ask};

/// Waits by a clock that the test moves on.
#[derive(Clone, Debug)]
struct ByHand(HandClock);

impl Timer for ByHand {
    fn sleep(&self, span: Duration) -> Sleep {
        let (clock, until) = (self.0.clone(), self.0.now().plus(span));
        Box::pin(std::future::poll_fn(move |_| match clock.now() < until {
            true => std::task::Poll::Pending,
            false => std::task::Poll::Ready(()),
        }))
    }
}

/// A store that takes its time and, if it lies, tells of another move to a group that is gone with every answer.
#[derive(Debug)]
struct Slow {
    timer: ByHand,
    takes: Duration,
    lies: bool,
    told: AtomicU32,
}

impl Slow {
    fn answer<T: Send + 'static>(&self, value: T) -> StoreCall<T> {
        self.told.fetch_add(1, Ordering::SeqCst);
        let taken = self.timer.sleep(self.takes);
        StoreCall::later(async {
            taken.await;
            Ok(value)
        })
    }

    fn row(&self, pin: SessionPin) -> StoreCall<SessionPin> {
        let nth = self.told.load(Ordering::SeqCst);
        self.answer(match self.lies {
            true => SessionPin {
                group: GroupRef::Known(GroupId::new(name("Z"), 1)),
                moves: pin.moves + 1 + nth,
                ..pin
            },
            false => pin,
        })
    }
}

impl PinStore for Slow {
    fn load(&self, _: RowKey, _: Terms) -> StoreCall<Option<SessionPin>> {
        self.answer(None)
    }

    fn claim(&self, claim: Claim) -> StoreCall<SessionPin> {
        self.row(claim.pin)
    }

    fn replace(&self, _: RowKey, pin: SessionPin, _: Terms) -> StoreCall<SessionPin> {
        self.row(pin)
    }

    fn remove(&self, _: RowKey, _: SessionId) -> StoreCall<()> {
        self.answer(())
    }

    fn absent(&self, _: RowFault) -> u64 {
        0
    }

    fn live(&self, _: Timestamp) -> LiveCounts {
        LiveCounts::Unknown
    }

    fn upkeep(&self, _: Timestamp) -> StoreCall<()> {
        StoreCall::ready(())
    }
}

struct Stage {
    site: Site,
    slow: Arc<Slow>,
    guarded: GuardedStore,
}

impl Stage {
    fn new(takes: u64, lies: bool) -> Self {
        let clock = HandClock::at(Timestamp::from_secs(START));
        let timer = ByHand(clock.clone());
        let slow = Arc::new(Slow {
            timer: timer.clone(),
            takes: Duration::from_millis(takes),
            lies,
            told: AtomicU32::new(0),
        });
        let store: Arc<dyn PinStore> = Arc::<Slow>::clone(&slow);
        let guarded = GuardedStore::new(store, timer).clock(Arc::new(clock.clone()));
        let groups = rollout(10, &[("A", 90), ("B", 10)]);
        let site = Site::of(clock, groups, K1, |builder| builder.store(guarded.clone()));
        Self {
            site,
            slow,
            guarded,
        }
    }

    /// The answer to a pinned request, and how long it took; the application takes no time.
    fn ask(&self) -> (Seen, Duration) {
        let cookie = format!("{COOKIE_NAME}={}", self.site.token("A"));
        let begun = self.site.clock.now();
        let on_its_way = self.site.start(ask("GET", "/", &[("cookie", &cookie)]));
        let seen = on_its_way.arrive_in_time(&self.site.clock);
        (seen, self.site.clock.now().since(begun))
    }

    fn told(&self) -> u32 {
        self.slow.told.swap(0, Ordering::SeqCst)
    }
}

/// F35: 25 ms are added at most, whatever the store does.
#[test]
fn all_that_a_request_asks_its_store_shares_one_patience() {
    for takes in [6, 9, 15, 19] {
        let stage = Stage::new(takes, true);
        let (seen, took) = stage.ask();
        assert_eq!(seen.status(), 200);
        assert!(took <= PATIENCE, "{takes} ms an answer: it took {took:?}");
        assert!(stage.told() > 1, "{takes} ms an answer: it was asked once");
    }
}

#[test]
fn what_the_answer_changes_is_told_within_the_same_patience() {
    let stage = Stage::new(15, false);
    stage.site.app.says(200, &[("affinity-session", "end")]);
    let (seen, took) = stage.ask();
    assert_eq!(seen.status(), 200);
    assert_eq!(stage.told(), 2, "a claim and a removal");
    assert_eq!(took, PATIENCE);
    assert!(
        !seen.set_cookies().is_empty(),
        "the pin of a session that has ended is not cleared"
    );
}

#[test]
fn a_store_that_was_out_of_time_once_is_not_asked_again_by_the_same_request() {
    let stage = Stage::new(1_000, false);
    stage.site.app.says(200, &[("affinity-session", "end")]);
    let (seen, took) = stage.ask();
    assert_eq!((seen.status(), took), (200, PATIENCE));
    assert_eq!(stage.told(), 1);
}

/// Who has little time left cannot tell whether the store is slow.
#[test]
fn calls_that_had_less_time_do_not_make_it_left_alone() {
    let stage = Stage::new(15, false);
    stage.site.app.says(200, &[("affinity-session", "end")]);
    for _ in 0..100 {
        stage.ask();
    }
    assert!(stage.guarded.is_asked(), "answers in time were not counted");
}
