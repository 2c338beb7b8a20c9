//! The store in memory: what its callers see, one fact a test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod full;
mod history;
mod model;
mod threads;
mod time;

use std::sync::Arc;

use super::MemoryStore;
use crate::fixtures::{at, endpoint, id, lifetimes, session};
use crate::{
    Claim, DrawKey, GroupId, Live, LiveCounts, MoveCause, PinStore, Revision, RowKey, SessionPin,
    StoreCall, Terms,
};

/// The answer of a call, which is here at once.
fn got<T>(call: StoreCall<T>) -> T {
    match call {
        StoreCall::Ready(Some(Ok(answer))) => answer,
        other => panic!("{other:?} is no answer"),
    }
}

fn terms(secs: i64) -> Terms {
    Terms {
        now: at(secs),
        lifetimes: lifetimes(),
    }
}

fn of_session(bits: u128) -> RowKey {
    RowKey::Session(session(bits))
}

fn of_user(bits: u128) -> RowKey {
    RowKey::Named(DrawKey::from(session(bits)))
}

/// The pin of a session that begins at `secs`.
fn pin(bits: u128, group: &str, secs: i64) -> SessionPin {
    SessionPin::new(
        session(bits),
        id(group, 1),
        Revision(10),
        at(secs),
        lifetimes(),
    )
}

fn claim(store: &MemoryStore, key: RowKey, pin: SessionPin, secs: i64) -> SessionPin {
    claim_as(store, key, pin, secs, true)
}

fn claim_as(
    store: &MemoryStore,
    key: RowKey,
    pin: SessionPin,
    secs: i64,
    evicts: bool,
) -> SessionPin {
    got(store.claim(Claim {
        key,
        pin,
        terms: terms(secs),
        evicts,
    }))
}

fn load(store: &MemoryStore, key: RowKey, secs: i64) -> Option<SessionPin> {
    got(store.load(key, terms(secs)))
}

fn counts(store: &MemoryStore, secs: i64) -> Arc<dyn Live> {
    match store.live(at(secs)) {
        LiveCounts::Known(live) => live,
        LiveCounts::Unknown => panic!("the store in memory does not know its counts"),
    }
}

fn live(store: &MemoryStore, group: &str, secs: i64) -> u64 {
    counts(store, secs).of(&id(group, 1))
}

#[test]
fn the_first_claim_of_a_key_wins() {
    let store = MemoryStore::new(10);
    let first = claim(&store, of_user(1), pin(1, "A", 0), 0);
    assert_eq!(first, pin(1, "A", 0));
    let second = claim(&store, of_user(1), pin(2, "B", 1), 1);
    assert_eq!(second, first, "the loser hears of the winner");
    assert_eq!(load(&store, of_user(1), 1), Some(first));
    assert_eq!((live(&store, "A", 1), live(&store, "B", 1)), (1, 0));
}

#[test]
fn a_name_and_a_session_of_the_same_bits_are_two_keys() {
    let store = MemoryStore::new(10);
    claim(&store, of_user(7), pin(1, "A", 0), 0);
    claim(&store, of_session(7), pin(7, "B", 0), 0);
    assert_eq!(load(&store, of_user(7), 0), Some(pin(1, "A", 0)));
    assert_eq!(load(&store, of_session(7), 0), Some(pin(7, "B", 0)));
}

#[test]
fn every_part_of_a_pin_comes_back() {
    let store = MemoryStore::new(10);
    let moved = pin(1, "A", 0)
        .moved(
            id("B", 3),
            MoveCause::Released,
            Revision(5 << 30),
            at(60),
            lifetimes(),
        )
        .at_endpoint(Some(endpoint("10.0.0.1:80")))
        .released();
    let unseen = pin(2, "B", 0).moved(
        id("C", 1),
        MoveCause::Step,
        Revision(11),
        at(5),
        lifetimes(),
    );
    let streaming = pin(3, "A", 0).streaming(lifetimes());
    for (key, pin) in [(1, &moved), (2, &unseen), (3, &streaming)] {
        assert_eq!(claim(&store, of_session(key), pin.clone(), 60), *pin);
    }
    for (key, pin) in [(1, moved), (2, unseen), (3, streaming)] {
        assert_eq!(load(&store, of_session(key), 61), Some(pin));
    }
}

#[test]
fn a_row_in_use_is_refreshed_once_a_quarter() {
    let store = MemoryStore::new(10);
    let began = claim(&store, of_session(1), pin(1, "A", 0), 0);
    let quarter = lifetimes().idle().as_secs() as i64 / 4;
    let early = claim(&store, of_session(1), pin(1, "A", 0), quarter - 1);
    assert_eq!(early, began);
    let due = claim(&store, of_session(1), pin(1, "A", 0), quarter);
    assert_eq!((due.issued, due.started), (at(quarter), at(0)));
    assert_eq!(due.expires, at(quarter + 4 * quarter));
    assert_eq!(
        load(&store, of_session(1), quarter + 4 * quarter - 1),
        Some(due)
    );
}

#[test]
fn a_replacement_is_taken_from_the_same_session_only_and_never_goes_back() {
    let store = MemoryStore::new(10);
    let old = claim(&store, of_user(1), pin(1, "A", 0), 0);
    let replace = |pin: &SessionPin| got(store.replace(of_user(1), pin.clone(), terms(60)));
    assert_eq!(
        replace(&pin(2, "B", 60)),
        old,
        "the row of another session stands"
    );
    let moved = old.moved(
        id("B", 1),
        MoveCause::Aborted,
        Revision(12),
        at(60),
        lifetimes(),
    );
    assert_eq!(replace(&moved), moved);
    assert_eq!(replace(&old), moved, "an older pin hears of the newer one");
    assert_eq!((live(&store, "A", 60), live(&store, "B", 60)), (0, 1));
}

#[test]
fn a_replacement_never_lowers_an_expiry() {
    let store = MemoryStore::new(10);
    let streaming = pin(1, "A", 0).streaming(lifetimes());
    claim(&store, of_session(1), streaming.clone(), 0);
    let moved = pin(1, "A", 0).moved(
        id("B", 1),
        MoveCause::Step,
        Revision(12),
        at(9),
        lifetimes(),
    );
    let stands = got(store.replace(of_session(1), moved, terms(9)));
    assert_eq!(stands.group.label(), "B");
    assert_eq!(stands.expires, streaming.expires);
}

#[test]
fn a_row_is_removed_by_its_own_session_only() {
    let store = MemoryStore::new(10);
    claim(&store, of_user(1), pin(1, "A", 0), 0);
    got(store.remove(of_user(1), session(2)));
    assert_eq!(live(&store, "A", 0), 1);
    got(store.remove(of_user(1), session(1)));
    got(store.remove(of_user(1), session(1)));
    assert_eq!((live(&store, "A", 0), store.rows()), (0, 0));
}

#[test]
fn sessions_are_counted_at_their_endpoints() {
    let store = MemoryStore::new(10);
    let (here, there) = (endpoint("10.0.0.1:80"), endpoint("10.0.0.2:80"));
    for bits in 0..3 {
        let pin = pin(bits, "A", 0).at_endpoint(Some(here.clone()));
        claim(&store, of_session(bits), pin, 0);
    }
    let moved = pin(2, "A", 0).at_endpoint(Some(there.clone()));
    got(store.replace(of_session(2), moved, terms(0)));
    claim(&store, of_session(9), pin(9, "A", 0), 0);
    let live = counts(&store, 0);
    let group = id("A", 1);
    assert_eq!(live.of(&group), 4);
    assert_eq!((live.at(&group, &here), live.at(&group, &there)), (2, 1));
    assert_eq!(live.at(&id("A", 2), &here), 0, "another generation");
}

#[test]
fn names_are_forgotten_with_their_last_row() {
    let store = MemoryStore::new(100);
    for release in 0..5_000 {
        let group = GroupId::new(format!("commit-{release}").parse().unwrap(), 1);
        let secs = release * 60;
        let mut pin = pin(1, "A", secs);
        pin.session = session(release as u128);
        let pin = pin
            .moved(
                group,
                MoveCause::Aborted,
                Revision(11),
                at(secs),
                lifetimes(),
            )
            .at_endpoint(Some(endpoint(&format!("10.0.0.1:{release}"))));
        claim(&store, of_session(release as u128), pin, secs);
        let live = counts(&store, secs);
        assert!(live.of(&id("A", 1)) == 0);
        // 31 sessions are not idle for 30 minutes: their groups, endpoints, and the one they left
        let names = store.shared.counts.names();
        assert!(
            names <= 2 * 31 + 1,
            "{names} names of {} rows",
            store.rows()
        );
    }
    got(store.upkeep(at(5_000 * 60 + 1_800)));
    assert_eq!((store.rows(), store.shared.counts.names()), (0, 0));
}
