//! Whose row a full store lets go of, and for whom.

use std::sync::Arc;

use tower_affinity::core::{
    Clock, Lifetimes, MemoryStore, PinStore, RowKey, SessionId, SessionPin, StoreCall, Terms,
};
use tower_affinity::wire::{AssignBy, PathPattern, Scope};

use crate::support::{COOKIE_NAME, Seen, Site, TI};

const CAPACITY: u128 = 100;

/// A site whose store is full of the rows of sessions 1 to `CAPACITY`, and which draws by `x-user`.
struct Full {
    site: Site,
    store: Arc<MemoryStore>,
}

impl Full {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::new(CAPACITY as usize));
        let by_user = AssignBy::Header("x-user".parse().unwrap());
        let scope = Scope::new(PathPattern::all()).assign(by_user);
        let kept = Arc::clone(&store);
        let site = Site::with(|builder| builder.store(kept).scope(scope));
        let full = Self { site, store };
        for bits in 1..=CAPACITY {
            full.show(&full.pin(bits), &[]);
        }
        assert_eq!(full.standing(), CAPACITY);
        full
    }

    fn pin(&self, bits: u128) -> SessionPin {
        SessionPin {
            session: SessionId::from_random(bits),
            ..self.site.pin("B")
        }
    }

    fn show(&self, pin: &SessionPin, headers: &[(&str, &str)]) -> Seen {
        let cookie = format!("{COOKIE_NAME}={}", self.site.seal(pin));
        let mut all = vec![("cookie", cookie.as_str())];
        all.extend(headers);
        let seen = self.site.get(&all);
        assert_eq!(seen.status(), 200);
        seen
    }

    /// One session under many names, each time with the same pin.
    fn show_under_many_names(&self, pin: &SessionPin) -> Seen {
        let mut last = None;
        for nth in 0..10 * CAPACITY {
            last = Some(self.show(pin, &[("x-user", &format!("made-up-{nth}"))]));
        }
        last.unwrap()
    }

    /// How many of the sessions have their row.
    fn standing(&self) -> u128 {
        let terms = Terms {
            now: self.site.clock.now(),
            lifetimes: Lifetimes::default(),
        };
        let stands = |bits: &u128| {
            let key = RowKey::Session(SessionId::from_random(*bits));
            let row = self.store.load(key, terms);
            matches!(row, StoreCall::Ready(Some(Ok(Some(_)))))
        };
        (1..=CAPACITY).filter(stands).count() as u128
    }
}

/// Rules, §9: "a live row is never evicted for a request without" a valid pin or a session's key. With
/// one pin, a client can make up as many keys as it likes.
#[test]
fn one_session_under_many_names_displaces_nobody() {
    let full = Full::new();
    let pin = full.pin(1_000);
    let seen = full.show_under_many_names(&pin);
    assert!(seen.said().starts_with("pinned/ok@"), "{}", seen.said());
    assert_eq!(full.standing(), CAPACITY, "a pin that is shown again");

    full.site.advance(TI / 4);
    let seen = full.show_under_many_names(&pin);
    assert!(seen.cookie().is_some(), "it was not due");
    assert_eq!(full.standing(), CAPACITY, "a pin that is renewed");

    full.site.abort("B");
    let seen = full.show_under_many_names(&pin);
    assert!(seen.said().starts_with("moved/aborted@"), "{}", seen.said());
    assert_eq!(full.standing(), CAPACITY, "a pin that moves");
}

#[test]
fn names_without_a_pin_displace_nobody() {
    let full = Full::new();
    for nth in 0..10 * CAPACITY {
        let seen = full.site.get(&[("x-user", &format!("made-up-{nth}"))]);
        assert_eq!(seen.status(), 200);
    }
    assert_eq!(full.standing(), CAPACITY);
}

#[test]
fn a_session_that_shows_its_pin_displaces_one_that_ends_first() {
    let full = Full::new();
    full.site.advance(1);
    full.show(&full.pin(1_000), &[]);
    assert_eq!(full.standing(), CAPACITY - 1);
    assert_eq!(full.store.rows() as u128, CAPACITY);
}
