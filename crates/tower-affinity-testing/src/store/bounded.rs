//! [`conform_bounded`]: what a store with a capacity does once it is full.

#![allow(clippy::expect_used)] // all of it is test code

use std::sync::Arc;

use tower_affinity_core::{Claim, PinStore, SessionPin};

use super::parts::{
    ANSWERS, IDLE, by_name, by_session, claim, claimed, group, live, load, moved, pin, replaced,
};

/// Holds a store with a capacity against its contract. `make` gives a new store that keeps at most
/// that many rows; it may divide them, so not every row up to then needs to find a place.
///
/// # Panics
///
/// If a fact does not hold.
pub async fn conform_bounded(make: impl Fn(usize) -> Arc<dyn PinStore>) {
    no_more_rows_stand_than_there_is_room_for(&*make(CAPACITY)).await;
    who_may_not_evict_displaces_nobody(&*make(CAPACITY)).await;
    who_may_evict_displaces_those_that_end_first(&*make(CAPACITY)).await;
    what_has_ended_makes_room(&*make(CAPACITY)).await;
    a_replacement_by_session_finds_room(&*make(CAPACITY)).await;
    a_replacement_by_name_displaces_nobody(&*make(CAPACITY)).await;
}

const CAPACITY: usize = 512;

/// So many that no part of a store has room left.
const MANY: u64 = 8 * CAPACITY as u64;

async fn no_more_rows_stand_than_there_is_room_for(store: &dyn PinStore) {
    for nth in 0..MANY {
        let pin = pin(nth, "a", 0);
        let stands = claimed(store, by_name(nth), &pin, 0).await;
        assert_eq!(stands, pin, "one that may evict finds room");
        assert_eq!(load(store, by_name(nth), 0).await, Some(pin));
    }
    let standing = standing(store, 0..MANY, 0).await;
    let count = standing.len();
    assert!(count <= CAPACITY, "{count} rows stand");
    assert!(count > CAPACITY / 2, "only {count} rows stand");
    let live = live(store, 0).await;
    assert_eq!(
        live.of(&group("a")),
        count as u64,
        "what was evicted counts"
    );
}

async fn who_may_not_evict_displaces_nobody(store: &dyn PinStore) {
    let mut kept = 0;
    for nth in 0..MANY {
        let pin = pin(nth, "a", 0);
        let stands = humbly(store, nth, &pin, 0).await;
        assert_eq!(stands, pin, "it is served, kept or not");
        kept += u64::from(load(store, by_name(nth), 0).await.is_some());
    }
    let standing = standing(store, 0..MANY, 0).await;
    assert_eq!(standing.len() as u64, kept, "a row was displaced");
    assert!(standing.len() <= CAPACITY, "{} rows stand", standing.len());
    assert!(
        standing.len() > CAPACITY / 2,
        "only {} were kept",
        standing.len()
    );
    // what stands is touched as ever
    let nth = standing.first().copied().expect("some stand");
    let late = pin(MANY, "b", 1);
    let stands = humbly(store, nth, &late, 1).await;
    assert_eq!(stands, pin(nth, "a", 0));
}

async fn who_may_evict_displaces_those_that_end_first(store: &dyn PinStore) {
    // every second row ends much later
    for nth in 0..MANY {
        let began = if nth % 2 == 0 { 0 } else { IDLE / 5 };
        humbly(store, nth, &pin(nth, "a", began), IDLE / 5).await;
    }
    let before = standing(store, 0..MANY, IDLE / 5).await;
    for nth in MANY..MANY + CAPACITY as u64 / 8 {
        claimed(store, by_name(nth), &pin(nth, "b", IDLE / 5), IDLE / 5).await;
    }
    let after = standing(store, 0..MANY, IDLE / 5).await;
    let gone: Vec<_> = before.iter().filter(|nth| !after.contains(nth)).collect();
    assert!(gone.len() > CAPACITY / 16, "only {} went", gone.len());
    let late = gone.iter().filter(|nth| **nth % 2 == 1).count();
    assert!(late * 10 <= gone.len(), "{late} of {} end late", gone.len());
}

async fn what_has_ended_makes_room(store: &dyn PinStore) {
    for nth in 0..MANY {
        humbly(store, nth, &pin(nth, "a", 0), 0).await;
    }
    let before = standing(store, 0..MANY, 0).await.len();
    for nth in MANY..2 * MANY {
        humbly(store, nth, &pin(nth, "a", IDLE), IDLE).await;
    }
    let after = standing(store, MANY..2 * MANY, IDLE).await.len();
    assert!(
        after * 2 > before,
        "{after} found room where {before} ended"
    );
}

async fn a_replacement_by_session_finds_room(store: &dyn PinStore) {
    for nth in 0..MANY {
        let pin = pin(nth, "a", 0);
        assert_eq!(replaced(store, by_session(nth), &pin, 0).await, pin);
        assert_eq!(load(store, by_session(nth), 0).await, Some(pin));
    }
    let count = live(store, 0).await.of(&group("a"));
    assert!(count <= CAPACITY as u64, "{count} rows stand");
}

async fn a_replacement_by_name_displaces_nobody(store: &dyn PinStore) {
    for nth in 0..MANY {
        claimed(store, by_session(nth), &pin(nth, "a", 0), 0).await;
    }
    let before = live(store, 0).await.of(&group("a"));
    // one session under many names
    let moved = moved(&pin(0, "a", 0), "b", 11, 0);
    for nth in 0..MANY {
        assert_eq!(replaced(store, by_name(nth), &moved, 0).await, moved);
    }
    let after = live(store, 0).await.of(&group("a"));
    assert_eq!(after, before, "a made-up name has displaced a session");
}

/// Claims without the right to evict.
async fn humbly(store: &dyn PinStore, nth: u64, pin: &SessionPin, now: u64) -> SessionPin {
    let claim = Claim {
        evicts: false,
        ..claim(by_name(nth), pin, now)
    };
    store.claim(claim).await.expect(ANSWERS)
}

/// Those whose rows stand.
async fn standing(store: &dyn PinStore, all: std::ops::Range<u64>, now: u64) -> Vec<u64> {
    let mut standing = Vec::new();
    for nth in all {
        if load(store, by_name(nth), now).await.is_some() {
            standing.push(nth);
        }
    }
    standing
}
