//! What is refused, and how much there can be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tower_affinity_core::Lifetimes;

use super::{IDLE, Slot, TICK, built, clock, place, room};
use crate::sessions::{LocalSessions, LocalSessionsError};

#[test]
fn a_local_clock_that_is_not_the_shorter_one_is_refused_with_both_values() {
    let lifetimes =
        Lifetimes::new(Duration::from_secs(1_200), Duration::from_secs(14_400)).unwrap();
    let with = |idle| LocalSessions::<()>::builder(lifetimes).idle_timeout(idle);
    let guaranteed = Duration::from_secs(900);
    for long in [guaranteed, Duration::from_secs(1_200), Duration::MAX] {
        let error = with(long).build().unwrap_err();
        let text = error.to_string();
        for value in ["1200s", "900s", &format!("{long:?}")] {
            assert!(text.contains(value), "{text} does not tell {value}");
        }
    }
    with(guaranteed - TICK).build().unwrap();
}

#[test]
fn the_defaults_agree_and_a_room_for_nothing_is_refused() {
    let default = || LocalSessions::<()>::builder(Lifetimes::default());
    default().build().unwrap();
    let none = default().capacity(0).build().unwrap_err();
    assert_eq!(none, LocalSessionsError::NoRoom);
    let short = Duration::from_micros(999);
    let none = default().idle_timeout(short).build().unwrap_err();
    assert_eq!(none, LocalSessionsError::TooShort(short));
}

#[test]
fn beyond_the_capacity_the_value_nearest_its_end_is_let_go() {
    let clock = clock();
    let sessions = built(&clock).capacity(50).build().unwrap();
    for nth in 0..50 {
        place(&sessions, nth).insert(nth);
        clock.advance(TICK);
    }
    // the older half is used again
    for nth in 0..25 {
        assert!(place(&sessions, nth).get().is_some());
    }
    for nth in 50..75 {
        place(&sessions, nth).insert(nth);
        assert_eq!(sessions.len(), 50);
    }
    for nth in 0..75 {
        let is_there = place(&sessions, nth).get().is_some();
        assert_eq!(is_there, !(25..50).contains(&nth), "session {nth}");
    }
}

#[test]
fn in_one_millisecond_the_newest_value_is_not_the_one_to_go() {
    let sessions = built(&clock()).capacity(1).build().unwrap();
    for nth in 0..100 {
        place(&sessions, nth).insert(nth);
        assert!(place(&sessions, nth).get().is_some(), "session {nth}");
        assert_eq!(sessions.len(), 1);
    }
}

#[test]
fn a_value_in_a_full_room_can_be_replaced_without_cost_to_others() {
    let sessions = built(&clock()).capacity(2).build().unwrap();
    place(&sessions, 1).insert(1);
    place(&sessions, 2).insert(2);
    for n in 0..10 {
        place(&sessions, 2).insert(n);
        place(&sessions, 2).get_or_insert_with(|| 0);
    }
    assert!(place(&sessions, 1).get().is_some());
}

#[test]
fn what_has_ended_goes_with_the_calls_of_others_a_few_at_a_time() {
    let clock = clock();
    let slots = Arc::new(AtomicUsize::new(0));
    let sessions = room(&clock);
    for nth in 0..1_000 {
        place(&sessions, nth).insert(Slot::take(&slots));
    }
    clock.advance(IDLE);
    let other = place(&sessions, 5_000);
    let mut left = slots.load(Ordering::SeqCst);
    let mut calls = 0;
    while left > 0 {
        let _ = other.get();
        let now = slots.load(Ordering::SeqCst);
        assert!(left - now <= 4, "one call dropped {}", left - now);
        left = now;
        calls += 1;
        assert!(calls <= 2_000, "{left} are left after {calls} calls");
    }
    assert!(sessions.is_empty());
}

#[test]
fn dead_values_never_pile_up_behind_new_ones() {
    let clock = clock();
    let sessions = built(&clock).capacity(1_000_000).build().unwrap();
    let mut most = 0;
    for nth in 0..20_000 {
        // ten requests a second, each of a session that never comes back
        place(&sessions, nth).insert(());
        clock.advance(Duration::from_millis(100));
        most = most.max(sessions.len());
    }
    // 6,000 of them are seen within ten minutes
    assert!(most <= 6_100, "{most} values were held at a time");
}

#[test]
fn a_timer_sweeps_what_nobody_calls_for() {
    let clock = clock();
    let sessions = room(&clock);
    for nth in 0..3_000 {
        place(&sessions, nth).insert(());
    }
    assert_eq!(sessions.sweep(), 0, "they have not ended");
    clock.advance(IDLE);
    let mut swept = 0;
    for _ in 0..10 {
        let now = sessions.sweep();
        assert!(now <= 1_024, "one call swept {now}");
        swept += now;
    }
    assert_eq!((swept, sessions.len()), (3_000, 0));
}
