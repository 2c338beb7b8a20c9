//! A store that fails is left alone, and found again.
#![allow(clippy::unwrap_used)]

use super::*;

const NOW: Timestamp = Timestamp::from_millis(10_000);

fn after(millis: u64) -> Timestamp {
    NOW.plus(Duration::from_millis(millis))
}

fn opened() -> Breaker {
    let mut breaker = Breaker::default();
    for nth in 1..=Breaker::FAILURES {
        assert_eq!(breaker.admit(NOW), Admission::Go);
        let change = breaker.ended(Admission::Go, false, NOW, 0.0);
        let opens = nth == Breaker::FAILURES;
        assert_eq!(change == Change::Opened, opens, "after {nth} failures");
    }
    breaker
}

#[test]
fn a_store_that_fails_is_left_alone_and_tried_once() {
    let mut breaker = opened();
    assert_eq!(breaker.admit(after(999)), Admission::Refused);
    assert_eq!(breaker.admit(after(1_000)), Admission::Try);
    assert_eq!(breaker.admit(after(1_000)), Admission::Refused, "a herd");
    let change = breaker.ended(Admission::Try, false, after(1_020), 0.0);
    assert_eq!(change, Change::None, "it was open before");
    assert_eq!(breaker.admit(after(2_019)), Admission::Refused);
    assert_eq!(breaker.admit(after(2_020)), Admission::Try);
    let change = breaker.ended(Admission::Try, true, after(2_021), 0.0);
    assert_eq!(change, Change::Closed);
    assert_eq!(breaker.admit(after(2_021)), Admission::Go);
}

#[test]
fn a_few_failures_among_many_calls_do_not_open_it() {
    let mut breaker = Breaker::default();
    for nth in 0..1_000 {
        let change = breaker.ended(Admission::Go, nth % 3 != 0, NOW, 0.0);
        assert_eq!(change, Change::None, "call {nth}");
    }
    // nor do failures that are seconds apart
    for second in 1..100 {
        let at = after(second * 1_000);
        assert_eq!(breaker.ended(Admission::Go, false, at, 0.0), Change::None);
    }
}

/// How many milliseconds after the first failure it opens, of calls that are `apart`, after so many
/// that went well in the same second.
fn opens(well: u32, apart: u64) -> u64 {
    let mut breaker = Breaker::default();
    for _ in 0..well {
        breaker.ended(Admission::Go, true, NOW, 0.0);
    }
    let opening = (0..1_000).map(|nth| nth * apart);
    let mut opening = opening
        .skip_while(|at| breaker.ended(Admission::Go, false, after(*at), 0.0) != Change::Opened);
    opening.next().unwrap()
}

#[test]
fn a_store_that_falls_silent_is_left_alone_soon_whatever_went_well_before() {
    assert_eq!(
        opens(0, 1),
        4,
        "nothing went well: the fifth failure opens it"
    );
    assert_eq!(opens(1_000, 1), 100);
    assert_eq!(opens(1_000, 20), 100);
    assert_eq!(
        opens(1_000, 400),
        1_600,
        "the fifth one, over three seconds"
    );
}

#[test]
fn a_call_that_succeeds_among_failures_keeps_it_closed() {
    let mut breaker = Breaker::default();
    for _ in 0..1_000 {
        breaker.ended(Admission::Go, true, NOW, 0.0);
    }
    for at in (0..900).step_by(10) {
        let ok = at % 90 == 0;
        let change = breaker.ended(Admission::Go, ok, after(at), 0.0);
        assert_eq!(change, Change::None, "after {at} ms");
    }
}

#[test]
fn a_trial_that_never_ends_does_not_keep_it_open_for_ever() {
    let mut breaker = opened();
    assert_eq!(breaker.admit(after(1_000)), Admission::Try);
    assert_eq!(breaker.admit(after(1_999)), Admission::Refused);
    assert_eq!(breaker.admit(after(2_000)), Admission::Try);
}

#[test]
fn a_trial_that_is_given_up_is_soon_followed_by_another() {
    let mut breaker = opened();
    assert_eq!(breaker.admit(after(1_000)), Admission::Try);
    breaker.given_up(Admission::Go, after(1_001));
    assert_eq!(breaker.admit(after(1_100)), Admission::Refused, "not it");
    breaker.given_up(Admission::Try, after(1_100));
    assert_eq!(breaker.admit(after(1_149)), Admission::Refused, "a flood");
    assert_eq!(breaker.admit(after(1_150)), Admission::Try);
    let change = breaker.ended(Admission::Try, true, after(1_151), 0.0);
    assert_eq!(change, Change::Closed);
    breaker.given_up(Admission::Try, after(1_152));
    assert!(breaker.is_closed(), "what is over is not given up");
}

#[test]
fn late_failures_of_calls_from_before_change_nothing() {
    let mut breaker = opened();
    assert_eq!(breaker.admit(after(1_000)), Admission::Try);
    breaker.ended(Admission::Go, false, after(1_001), 0.0);
    assert_eq!(
        breaker.ended(Admission::Try, true, after(1_002), 0.0),
        Change::Closed
    );
    assert!(breaker.is_closed());
}

#[test]
fn jitter_spreads_the_trials_over_half_the_pause() {
    let mut breaker = opened();
    assert_eq!(breaker.admit(after(1_000)), Admission::Try);
    breaker.ended(Admission::Try, false, after(1_000), 1.0);
    assert_eq!(breaker.admit(after(2_499)), Admission::Refused);
    assert_eq!(breaker.admit(after(2_500)), Admission::Try);
}
