//! When a value ends, and what that means for those who hold it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tower_affinity_core::{Cause, Kind};

use super::{IDLE, Slot, TICK, affinity, clock, id, place, room};
use crate::Affinity;
use crate::fixtures::decision;
use crate::sessions::Local;
use crate::signal::Signal;

#[test]
fn a_value_is_there_for_the_requests_of_its_session_only() {
    let sessions = room(&clock());
    place(&sessions, 1).insert("mine");
    assert_eq!(place(&sessions, 1).get().as_deref(), Some(&"mine"));
    assert_eq!(place(&sessions, 2).get(), None);
}

#[test]
fn a_request_without_a_session_has_no_place() {
    let sessions = room::<()>(&clock());
    let mut bypassed = decision("a", Kind::Bypassed, Cause::None);
    bypassed.pin = None;
    assert!(sessions.of(&Affinity::new(bypassed)).is_none());
    assert!(sessions.of(&affinity(0)).is_some());
}

#[test]
fn a_value_ends_when_its_session_was_not_seen_for_the_idle_timeout() {
    let clock = clock();
    let sessions = room(&clock);
    place(&sessions, 1).insert(7);
    clock.advance(IDLE - TICK);
    assert_eq!(place(&sessions, 1).get().as_deref(), Some(&7));
    clock.advance(IDLE);
    assert_eq!(place(&sessions, 1).get(), None);
}

#[test]
fn a_value_that_has_ended_is_not_seen_though_it_was_not_swept() {
    for ask in [
        |local: Local<u64>| local.get().is_some(),
        |local: Local<u64>| local.update(|n| *n += 1).is_some(),
        |local: Local<u64>| local.remove().is_some(),
        |local: Local<u64>| *local.get_or_insert_with(|| u64::MAX) != u64::MAX,
    ] {
        let clock = clock();
        let sessions = room(&clock);
        for nth in 0..1_000 {
            place(&sessions, nth).insert(nth);
        }
        clock.advance(IDLE);
        // the last ones of each shard, which a few calls do not reach
        for nth in 980..1_000 {
            assert!(!ask(sessions.of_session(id(nth))), "session {nth}");
        }
        assert!(sessions.len() > 500, "they were swept: this shows nothing");
    }
}

#[test]
fn every_request_that_asks_for_its_place_is_use() {
    let clock = clock();
    let sessions = room(&clock);
    let first = place(&sessions, 1);
    first.insert(7);
    for _ in 0..10 {
        clock.advance(IDLE - TICK);
        // the handler looks at nothing
        let _ = place(&sessions, 1);
    }
    clock.advance(IDLE - TICK);
    // and an answer that streams is use as often as it looks
    for _ in 0..10 {
        assert!(first.get().is_some());
        clock.advance(IDLE - TICK);
    }
    assert_eq!(first.update(|n| *n += 1), Some(()));
}

#[test]
fn a_clock_that_goes_back_ends_nothing_earlier() {
    let clock = clock();
    let sessions = room(&clock);
    place(&sessions, 1).insert(7);
    let start = tower_affinity_core::Clock::now(&clock);
    clock.set(tower_affinity_core::Timestamp::from_secs(1));
    assert!(place(&sessions, 1).get().is_some());
    clock.set(start.plus(IDLE - TICK));
    assert!(place(&sessions, 1).get().is_some());
}

#[test]
fn who_holds_a_value_keeps_it_beyond_its_end() {
    let clock = clock();
    let slots = Arc::new(AtomicUsize::new(0));
    let sessions = room(&clock);
    let local = place(&sessions, 1);
    local.insert(Slot::take(&slots));
    let held = local.get().unwrap();
    clock.advance(IDLE);
    assert!(local.get().is_none(), "it has ended");
    assert_eq!(sessions.len(), 0, "its room is free");
    assert_eq!(
        slots.load(Ordering::SeqCst),
        1,
        "it was taken from its holder"
    );
    drop(held);
    assert_eq!(slots.load(Ordering::SeqCst), 0, "nobody holds it");
}

#[test]
fn an_update_during_which_the_value_ends_is_as_if_it_had_come_before() {
    let clock = clock();
    let sessions = room(&clock);
    let local = place(&sessions, 1);
    local.insert(1);
    let told = local.update(|n| {
        clock.advance(IDLE);
        assert_eq!(sessions.sweep(), 1);
        *n += 1;
        *n
    });
    assert_eq!(told, Some(2));
    assert_eq!(local.get(), None);
    assert_eq!(local.update(|n| *n += 1), None);
}

#[test]
fn a_value_that_is_removed_or_replaced_is_dropped() {
    let slots = Arc::new(AtomicUsize::new(0));
    let sessions = room(&clock());
    let local = place(&sessions, 1);
    assert!(local.remove().is_none());
    local.insert(Slot::take(&slots));
    local.insert(Slot::take(&slots));
    assert_eq!((slots.load(Ordering::SeqCst), sessions.len()), (1, 1));
    assert!(local.remove().is_some());
    assert_eq!((slots.load(Ordering::SeqCst), sessions.len()), (0, 0));
    assert!(sessions.is_empty());
}

#[test]
fn the_end_of_a_flow_empties_its_place_and_is_the_word_for_the_layer() {
    let sessions = room(&clock());
    place(&sessions, 1).insert(7);
    assert_eq!(place(&sessions, 1).end(), Signal::End);
    assert_eq!(place(&sessions, 1).get(), None);
}

#[test]
fn values_go_with_the_room() {
    let slots = Arc::new(AtomicUsize::new(0));
    let sessions = room(&clock());
    for nth in 0..100 {
        place(&sessions, nth).insert(Slot::take(&slots));
    }
    drop(sessions);
    assert_eq!(slots.load(Ordering::SeqCst), 0);
}
