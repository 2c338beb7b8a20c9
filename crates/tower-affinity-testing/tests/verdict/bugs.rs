//! What is planted in the method is found by the same rollouts.

use tower_affinity_core::analysis::{Tally, Verdict};

use crate::alarms::{RUNS, long};
use crate::course::{Course, Judge, is_alarm};

/// The difference in standard errors, under equality.
fn errors(canary: &Tally, stable: &Tally) -> f64 {
    let (n, m) = (canary.sessions as f64, stable.sessions as f64);
    let (k, j) = (canary.failed as f64, stable.failed as f64);
    let rate = (k + j + 1.0) / (n + m + 2.0);
    (k / n - j / m) / (rate * (1.0 - rate) * (1.0 / n + 1.0 / m)).sqrt()
}

fn called(errors: f64, bound: f64) -> Verdict {
    match errors {
        errors if errors > bound => Verdict::Worse,
        errors if errors < -bound => Verdict::Better,
        _ => Verdict::NotEnoughYet,
    }
}

/// The bound of the mixture, in standard errors; `information` is `τ²/V`.
fn bound(information: f64) -> f64 {
    let ratio = (1.0 + information) / information;
    (ratio * (information.ln_1p() - 2.0 * 0.05_f64.ln())).sqrt()
}

fn is_enough(canary: &Tally, stable: &Tally) -> bool {
    canary.sessions.min(stable.sessions) >= 50
}

fn found(course: &Course, judge: &Judge) {
    let share = course.share(RUNS, judge, is_alarm);
    assert!(share > 0.05, "only {share} of the rollouts show it");
}

#[test]
fn a_fixed_bound_is_found() {
    let fixed = |canary: &Tally, stable: &Tally| match is_enough(canary, stable) {
        true => called(errors(canary, stable), 1.96),
        false => Verdict::NotEnoughYet,
    };
    found(&Course::new(0.5, 0.05, 0.05), &fixed);
}

#[test]
fn a_width_by_the_data_is_found() {
    // the width at which this very difference is the easiest to tell
    let fitted = |canary: &Tally, stable: &Tally| match is_enough(canary, stable) {
        true => {
            let errors = errors(canary, stable);
            let best = (1..200).map(|tenth| bound(f64::from(tenth) / 10.0));
            called(errors, best.fold(f64::INFINITY, f64::min))
        }
        false => Verdict::NotEnoughYet,
    };
    found(&long(0.5), &fitted);
}

#[test]
fn a_variance_of_the_rates_as_seen_is_found() {
    // the variance of the rates as they are seen: next to nothing where failures happen to be few
    let seen = |canary: &Tally, stable: &Tally| {
        if !is_enough(canary, stable) {
            return Verdict::NotEnoughYet;
        }
        let rate = |tally: &Tally| tally.failed as f64 / tally.sessions as f64;
        let of = |tally: &Tally| rate(tally) * (1.0 - rate(tally)) / tally.sessions as f64;
        let variance = (of(canary) + of(stable)).max(1e-12);
        let difference = rate(canary) - rate(stable);
        called(difference / variance.sqrt(), bound(4e-4 / variance))
    };
    found(&Course::new(0.01, 0.05, 0.05), &seen);
}

#[test]
fn a_method_that_does_not_wait_for_events_is_found() {
    let hasty = |canary: &Tally, stable: &Tally| {
        let errors = errors(canary, stable);
        let (n, m) = (canary.sessions as f64, stable.sessions as f64);
        let rate = (canary.failed + stable.failed + 1) as f64 / (n + m + 2.0);
        let variance = rate * (1.0 - rate) * (1.0 / n + 1.0 / m);
        called(errors, bound(4e-4 / variance))
    };
    found(&Course::new(0.01, 0.002, 0.002), &hasty);
}
