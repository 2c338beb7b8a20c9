//! An equal canary is hardly ever called better or worse, however often one looks.

use tower_affinity_core::analysis::{Tally, Terms, Verdict, verdict};

use crate::course::{Course, is_alarm};

/// The method with its defaults.
pub(crate) fn ours(canary: &Tally, stable: &Tally) -> Verdict {
    verdict(canary, stable, &Terms::default())
}

pub(crate) const RATES: [f64; 5] = [0.002, 0.01, 0.05, 0.2, 0.5];
pub(crate) const WEIGHTS: [f64; 3] = [0.01, 0.1, 0.5];
pub(crate) const RUNS: u64 = 2_000;

#[test]
fn an_equal_canary_is_called_different_in_at_most_one_of_twenty_rollouts() {
    println!("A/A, {RUNS} rollouts each, a look after each 100 of 20,000 sessions");
    for rate in RATES {
        for weight in WEIGHTS {
            let share = Course::new(weight, rate, rate).share(RUNS, &ours, is_alarm);
            println!(
                "rate {rate}, weight {weight}: {:.2} % false alarms",
                share * 100.0
            );
            assert!(
                share <= 0.05,
                "rate {rate}, weight {weight}: {share} are alarms"
            );
        }
    }
}

/// 13 million sessions, looked at 400 times.
pub(crate) fn long(rate: f64) -> Course {
    Course::new(0.5, rate, rate).looks(400, 100).growing(1.03)
}

#[test]
fn nor_is_it_over_millions_of_sessions() {
    for rate in [0.05, 0.5] {
        let share = long(rate).share(RUNS, &ours, is_alarm);
        println!(
            "rate {rate}, 400 looks at up to 13 million sessions: {:.2} %",
            share * 100.0
        );
        assert!(share <= 0.05, "rate {rate}: {share} are alarms");
    }
}

#[test]
fn a_stricter_level_holds_too() {
    let strict = Terms::new(0.02, 0.01).unwrap();
    let judge = move |canary: &Tally, stable: &Tally| verdict(canary, stable, &strict);
    for weight in WEIGHTS {
        let share = Course::new(weight, 0.1, 0.1).share(RUNS, &judge, is_alarm);
        assert!(share <= 0.01, "weight {weight}: {share} are alarms at 0.01");
    }
}

#[test]
fn a_canary_worse_by_what_matters_hardly_ever_passes() {
    for (rate, weight) in [(0.002, 0.5), (0.01, 0.1), (0.05, 0.5), (0.2, 0.5)] {
        let course = Course::new(weight, rate + 0.01, rate);
        let share = course.share(RUNS, &ours, Verdict::passes);
        println!(
            "worse by 1 point from {rate}, weight {weight}: {:.2} % pass",
            share * 100.0
        );
        assert!(share <= 0.05, "rate {rate}, weight {weight}: {share} pass");
    }
}
