//! A store that is full.

use super::{claim, claim_as, got, live, load, of_session, of_user, pin, terms};
use crate::fixtures::TI;
use crate::store::memory::{MAX_SHARDS, MemoryStore};
use crate::{PinStore, RowKey};

const IDLE: i64 = TI.as_secs() as i64;

/// A store whose rows, one a second, are those of sessions 0 to `rows` - 1.
fn filled(rows: u64) -> MemoryStore {
    let store = MemoryStore::new(rows as usize);
    for nth in 0..rows {
        let bits = nth.into();
        claim(
            &store,
            of_session(bits),
            pin(bits, "A", nth as i64),
            nth as i64,
        );
    }
    assert_eq!(store.rows(), rows as usize);
    store
}

#[test]
fn the_row_that_is_nearest_its_end_goes() {
    let store = filled(100);
    // the first one is in use, so the second is nearest its end
    claim(&store, of_session(0), pin(0, "A", 0), 1_000);
    claim(&store, of_session(500), pin(500, "B", 1_000), 1_000);
    assert_eq!(load(&store, of_session(1), 1_000), None);
    for kept in (0..100).filter(|kept| *kept != 1) {
        assert!(load(&store, of_session(kept), 1_000).is_some(), "{kept}");
    }
    assert_eq!(
        (live(&store, "A", 1_000), live(&store, "B", 1_000)),
        (99, 1)
    );
}

#[test]
fn a_claim_that_may_not_evict_displaces_nobody() {
    let store = filled(100);
    for made_up in 0..1_000 {
        let pin = pin(1_000 + made_up, "B", 200);
        let answer = claim_as(&store, of_user(made_up), pin.clone(), 200, false);
        assert_eq!(answer, pin, "it is served all the same");
    }
    assert_eq!((live(&store, "A", 200), live(&store, "B", 200)), (100, 0));
}

#[test]
fn rows_that_have_ended_make_room_for_anybody() {
    let store = filled(100);
    for nth in 0..50 {
        claim_as(
            &store,
            of_user(nth),
            pin(900 + nth, "B", IDLE + 49),
            IDLE + 49,
            false,
        );
    }
    claim_as(
        &store,
        of_user(50),
        pin(950, "B", IDLE + 49),
        IDLE + 49,
        false,
    );
    assert_eq!(
        (live(&store, "A", IDLE + 49), live(&store, "B", IDLE + 49)),
        (50, 50)
    );
}

#[test]
fn a_replacement_finds_room_as_who_sends_it_holds_a_pin() {
    let store = filled(10);
    let stands = got(store.replace(of_session(77), pin(77, "B", 20), terms(20)));
    assert_eq!(stands, pin(77, "B", 20));
    assert_eq!((live(&store, "A", 20), live(&store, "B", 20)), (9, 1));
}

#[test]
fn a_replacement_by_a_name_displaces_nobody() {
    let store = filled(10);
    let stands = got(store.replace(of_user(77), pin(77, "B", 20), terms(20)));
    assert_eq!(stands, pin(77, "B", 20), "it is served all the same");
    assert_eq!((live(&store, "A", 20), live(&store, "B", 20)), (10, 0));
    // nor does it, once all have ended, find no room
    got(store.replace(of_user(77), pin(77, "B", IDLE + 20), terms(IDLE + 20)));
    assert_eq!(live(&store, "B", IDLE + 20), 1);
}

#[test]
fn rows_filed_far_ahead_are_compared_by_when_they_end() {
    let store = MemoryStore::new(50);
    let lifetimes = crate::fixtures::lifetimes();
    for nth in 0..50_u128 {
        // all end past the reach of the wheel, the last one first
        let mut pin = pin(nth, "A", 0).streaming(lifetimes);
        pin.expires = crate::fixtures::at(12_000 - 100 * nth as i64);
        claim(&store, of_session(nth), pin, 0);
    }
    for nth in (0..50).rev() {
        assert!(load(&store, of_session(nth), 1).is_some());
        claim(
            &store,
            of_user(nth),
            pin(nth, "B", 1).streaming(lifetimes),
            1,
        );
        assert_eq!(load(&store, of_session(nth), 1), None, "{nth} ended next");
    }
}

#[test]
fn a_store_without_capacity_keeps_nothing() {
    let store = MemoryStore::new(0);
    assert_eq!(
        claim(&store, of_session(1), pin(1, "A", 0), 0),
        pin(1, "A", 0)
    );
    let stands = got(store.replace(of_session(1), pin(1, "A", 0), terms(0)));
    assert_eq!(stands, pin(1, "A", 0));
    assert_eq!((load(&store, of_session(1), 0), store.rows()), (None, 0));
}

#[test]
fn the_parts_of_the_shards_add_up_to_the_capacity() {
    for capacity in [0, 1, 16_384, 16_385, 100_003, 20_000_000] {
        let store = MemoryStore::new(capacity);
        let parts = store
            .shards
            .iter()
            .map(|shard| super::super::lock(shard).capacity());
        assert_eq!(parts.sum::<usize>(), capacity);
        assert!(store.shards.len() <= MAX_SHARDS);
    }
}

#[test]
fn a_store_of_many_shards_is_filled_to_97_of_100() {
    let capacity = 40_000;
    let store = MemoryStore::new(capacity);
    assert!(store.shards.len() > 1);
    let mut refused = 0;
    for nth in 0..capacity as u128 {
        let bits = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        let key = RowKey::Session(crate::SessionId::from_random(bits));
        claim_as(&store, key, pin(bits, "A", 0), 0, false);
        refused += usize::from(load(&store, key, 0).is_none());
    }
    assert!(refused < capacity * 3 / 100, "{refused} of {capacity}");
    assert_eq!(live(&store, "A", 0), (capacity - refused) as u64);
}
