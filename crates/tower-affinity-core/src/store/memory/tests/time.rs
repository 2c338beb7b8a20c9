//! Rows end by the clock of whoever asks, swept or not, wherever it steps.

use super::{claim, live, load, of_session, pin, terms};
use crate::fixtures::{TA, TI, at};
use crate::store::memory::MemoryStore;
use crate::{Lifetimes, PinStore, RowFault, Terms};

const IDLE: i64 = TI.as_secs() as i64;
const AGE: i64 = TA.as_secs() as i64;
const DAY: i64 = 24 * 60 * 60;

#[test]
fn a_row_that_has_ended_is_absent_before_anything_swept_it() {
    let store = MemoryStore::new(10);
    claim(&store, of_session(1), pin(1, "A", 0), 0);
    assert!(load(&store, of_session(1), IDLE - 1).is_some());
    assert_eq!(load(&store, of_session(1), IDLE), None);
    assert_eq!(store.rows(), 1, "nothing was swept");
    assert_eq!(store.absent(RowFault::Ended), 1);
    let next = claim(&store, of_session(1), pin(1, "B", IDLE), IDLE);
    assert_eq!(next.group.label(), "B", "an ended row wins over a claim");
    assert_eq!((live(&store, "A", IDLE), live(&store, "B", IDLE)), (0, 1));
}

#[test]
fn counts_are_those_of_the_second_without_a_sweep_in_the_background() {
    let store = MemoryStore::new(100_000);
    for second in 0..IDLE {
        for nth in 0..3 {
            let bits = (second * 3 + nth) as u128;
            claim(&store, of_session(bits), pin(bits, "A", second), second);
        }
    }
    for later in [0, 1, 2, 60, 61, IDLE - 2, IDLE - 1, IDLE] {
        let left = (IDLE - 1 - later).max(0) as u64;
        assert_eq!(live(&store, "A", IDLE + later), 3 * left, "after {later} s");
    }
    assert_eq!(store.rows(), 0);
}

#[test]
fn a_refresh_does_not_lengthen_a_session() {
    let store = MemoryStore::new(10);
    let mut second = 0;
    claim(&store, of_session(1), pin(1, "A", 0), 0);
    while second < AGE - 1 {
        second = (second + IDLE / 3).min(AGE - 1);
        let stands = claim(&store, of_session(1), pin(1, "B", 0), second);
        assert_eq!(stands.group.label(), "A", "at {second}");
        assert!(stands.expires <= at(AGE));
    }
    assert_eq!(load(&store, of_session(1), AGE), None);
    assert_eq!((live(&store, "A", AGE - 1), live(&store, "A", AGE)), (1, 0));
}

#[test]
fn a_shorter_lifetime_ends_rows_that_stand() {
    let store = MemoryStore::new(10);
    let streaming = pin(1, "A", 0).streaming(Lifetimes::new(TI, TA).unwrap());
    claim(&store, of_session(1), streaming, 0);
    let shorter = Terms {
        lifetimes: Lifetimes::new(TI, TI).unwrap(),
        ..terms(IDLE)
    };
    assert!(load(&store, of_session(1), IDLE).is_some());
    assert_eq!(super::got(store.load(of_session(1), shorter)), None);
}

#[test]
fn what_is_past_the_wheel_ends_in_its_second() {
    // all of these are filed again on their way, some of them often
    let store = MemoryStore::new(1_000);
    let days = Lifetimes::new(
        std::time::Duration::from_secs(3 * DAY as u64),
        40 * DAY as u32 * std::time::Duration::from_secs(1),
    )
    .unwrap();
    for nth in 0..100 {
        let bits = nth as u128;
        let mut pin = pin(bits, "A", 0);
        pin.expires = at(3_001 * (nth + 1));
        let terms = Terms {
            now: at(0),
            lifetimes: days,
        };
        super::got(store.replace(of_session(bits), pin, terms));
    }
    for nth in 0..100 {
        let ends = 3_001 * (nth + 1);
        assert_eq!(live(&store, "A", ends - 1), 100 - nth as u64);
        assert_eq!(live(&store, "A", ends), 99 - nth as u64);
    }
}

#[test]
fn a_step_forward_ends_what_has_ended_by_then() {
    let store = MemoryStore::new(10);
    claim(&store, of_session(1), pin(1, "A", 0), 0);
    claim(
        &store,
        of_session(2),
        pin(2, "A", IDLE + DAY - 5),
        IDLE + DAY - 5,
    );
    assert_eq!(live(&store, "A", IDLE + DAY), 1);
    assert_eq!(live(&store, "A", 365 * DAY), 0);
    assert_eq!(store.rows(), 0);
}

#[test]
fn a_step_back_loses_no_row_and_brings_none_back() {
    let store = MemoryStore::new(10);
    claim(&store, of_session(1), pin(1, "A", 0), 0);
    claim(&store, of_session(2), pin(2, "A", IDLE), IDLE);
    assert_eq!(live(&store, "A", IDLE + 60), 1);
    // an hour back: what was swept stays away, what stood stands, what begins now ends in time
    assert_eq!(live(&store, "A", -3_600), 1);
    assert_eq!(load(&store, of_session(1), -3_600), None);
    claim(&store, of_session(3), pin(3, "A", -3_600), -3_600);
    assert_eq!(live(&store, "A", -3_600), 2);
    assert_eq!(live(&store, "A", -3_600 + IDLE - 1), 2);
    assert_eq!(live(&store, "A", -3_600 + IDLE), 1);
    assert_eq!(live(&store, "A", 2 * IDLE - 1), 1);
    assert_eq!(live(&store, "A", 2 * IDLE), 0);
}

#[test]
fn clocks_of_two_threads_that_differ_count_the_same() {
    let store = MemoryStore::new(10);
    let short = Lifetimes::new(std::time::Duration::from_secs(1), TA).unwrap();
    assert_eq!(live(&store, "A", 101), 0);
    // a row of a thread that still reads 100 ends in the second that was swept
    let mut late = pin(1, "A", 100);
    late.expires = at(101);
    let terms = Terms {
        now: at(100),
        lifetimes: short,
    };
    super::got(store.replace(of_session(1), late, terms));
    assert_eq!(live(&store, "A", 101), 0);
    assert_eq!(store.rows(), 0);
}

/// F40 in small: sessions come, stay for a while, and go, for a day.
#[test]
fn f40_a_day_of_sessions_leaves_what_lives_and_nothing_else() {
    const SESSIONS: u128 = 20_000;
    const CAPACITY: usize = 2_000;
    let store = MemoryStore::new(CAPACITY);
    let mut alive = std::collections::BTreeMap::new();
    for bits in 0..SESSIONS {
        let second = (bits * DAY as u128 / SESSIONS) as i64;
        claim(&store, of_session(bits), pin(bits, "A", second), second);
        alive.insert(bits, second + IDLE);
        // one of the last hundred comes back
        let other = bits - bits.min(bits * 7 % 100);
        if alive.get(&other).is_some_and(|ends| *ends > second) {
            let stands = claim(&store, of_session(other), pin(other, "B", second), second);
            alive.insert(other, (stands.expires.as_secs() - at(0).as_secs()) as i64);
        }
        alive.retain(|_, ends| *ends > second);
        assert!(store.rows() <= CAPACITY);
        if bits % 97 == 0 {
            assert_eq!(live(&store, "A", second), alive.len() as u64, "at {second}");
            assert_eq!(live(&store, "B", second), 0);
        }
    }
    assert_eq!(live(&store, "A", 2 * DAY), 0);
    assert_eq!(store.rows(), 0);
}
