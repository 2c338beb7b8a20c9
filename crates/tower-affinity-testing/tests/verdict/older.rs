//! Who was there before does not deceive.

use tower_affinity_core::analysis::{Comparison, Tally, Terms, Verdict, compare};

use crate::chance::Dice;

/// A group while its sessions ask: those of the step, and of those from before as many as `older`
/// for each of them. Each asks ten times.
fn answered(sessions: u64, older: u64, rate: f64, older_rate: f64, dice: &mut Dice) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..sessions {
        let failed = (0..10).filter(|_| dice.part() < rate).count() as u64;
        tally = tally.merge(Tally {
            sessions: 1,
            failed: failed.min(1),
            completed: 1,
            slow: 0,
            requests: 10,
            failed_requests: failed,
        });
        let requests = 10 * older;
        let failed = (0..requests).filter(|_| dice.part() < older_rate).count() as u64;
        tally = tally.merge(Tally {
            requests,
            failed_requests: failed,
            ..Tally::default()
        });
    }
    tally
}

/// Both commits are equal; sessions from before, all of them at the stable group, fail at another
/// rate than new ones.
fn compared(rate: f64, older_rate: f64) -> Comparison {
    let mut dice = Dice::new(11);
    let canary = answered(20_000, 0, rate, older_rate, &mut dice);
    let stable = answered(20_000, 4, rate, older_rate, &mut dice);
    compare(&canary, &stable, &Terms::default())
}

#[test]
fn a_canary_is_not_better_because_older_sessions_fail_more_often() {
    let Comparison {
        naive,
        failures,
        verdict,
        ..
    } = compared(0.002, 0.004);
    let difference = naive.difference.unwrap();
    println!(
        "older sessions fail twice as often: naive {:+.2} points, sessions {:+.2} points in {:?}",
        difference * 100.0,
        failures.difference.unwrap() * 100.0,
        failures.interval
    );
    assert!(
        difference < -0.001,
        "the naive comparison should call it better: {difference}"
    );
    assert_eq!(
        verdict,
        Verdict::NoWorse,
        "both commits are equal: {failures:?}"
    );
    assert!(
        naive.off.unwrap() < -0.001,
        "and it should be shown to be off: {naive:?}"
    );
}

#[test]
fn nor_worse_because_they_fail_less_often() {
    let Comparison {
        naive,
        failures,
        verdict,
        ..
    } = compared(0.004, 0.001);
    let difference = naive.difference.unwrap();
    assert!(
        difference > 0.001,
        "the naive comparison should call it worse: {difference}"
    );
    assert!(
        !matches!(verdict, Verdict::Worse | Verdict::Better),
        "both are equal: {failures:?}"
    );
}
