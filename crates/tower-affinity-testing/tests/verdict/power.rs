//! A worse canary is found about as soon as by a test whose size was fixed before.

use tower_affinity_core::analysis::Verdict;

use crate::alarms::ours;
use crate::chance::Dice;
use crate::course::Course;

/// Sessions of a two-proportion z-test, as calculators of sample sizes have it: `false_alarm` and
/// `power` are the normal quantiles.
fn fixed(canary: f64, stable: f64, weight: f64, false_alarm: f64, power: f64) -> f64 {
    let others = (1.0 - weight) / weight;
    let pooled = weight * canary + (1.0 - weight) * stable;
    let of = |rate: f64| rate * (1.0 - rate);
    let equal = (of(pooled) * (1.0 + 1.0 / others)).sqrt();
    let apart = (of(canary) + of(stable) / others).sqrt();
    let of_canary = ((false_alarm * equal + power * apart) / (canary - stable)).powi(2);
    of_canary / weight
}

/// Two-sided 5 %, one-sided 5 %; power 80 % and 90 %.
const TWO_SIDED: f64 = 1.959_964;
const ONE_SIDED: f64 = 1.644_854;
const POWER_80: f64 = 0.841_621;
const POWER_90: f64 = 1.281_552;

#[test]
fn the_fixed_size_is_that_of_the_textbook() {
    // Fleiss, Levin, Paik: 5 % against 7 %, 2213 in each group
    let both = fixed(0.07, 0.05, 0.5, TWO_SIDED, POWER_80);
    assert_eq!((both / 2.0).ceil(), 2_213.0);
}

#[test]
fn a_canary_worse_by_two_points_is_found_in_time() {
    const RUNS: u64 = 1_000;
    println!("sessions to `worse`, as parts of a fixed sample of two-sided 5 % and 80 %");
    for (canary, stable) in [(0.07, 0.05), (0.12, 0.10), (0.22, 0.20), (0.52, 0.50)] {
        for weight in [0.1, 0.5] {
            let sized = |alarm, power| fixed(canary, stable, weight, alarm, power);
            let size = sized(TWO_SIDED, POWER_80);
            let step = 50;
            let looks = (6.0 * size / step as f64) as usize;
            let course = Course::new(weight, canary, stable).looks(looks, step);
            let mut taken: Vec<u64> = (0..RUNS)
                .filter_map(|run| {
                    let mut dice = Dice::new(run << 32 | 0xbad);
                    course.until(&mut dice, &ours, |verdict| verdict == Verdict::Worse)
                })
                .collect();
            taken.sort_unstable();
            let found = taken.len() as f64 / RUNS as f64;
            let median = taken[taken.len() / 2] as f64;
            let mean = taken.iter().sum::<u64>() as f64 / taken.len() as f64;
            println!(
                "{stable} to {canary}, weight {weight}: fixed {size:.0}, median {:.2}, mean {:.2}; \
                 mean against one-sided {:.2}, against 90 % {:.2}; found {:.1} %",
                median / size,
                mean / size,
                mean / sized(ONE_SIDED, POWER_80),
                mean / sized(TWO_SIDED, POWER_90),
                found * 100.0
            );
            let why = format!("{stable} to {canary}, weight {weight}, fixed {size}");
            assert!(found > 0.97, "{why}: found in {found}");
            assert!(median <= 1.3 * size, "{why}: the median is {median}");
            assert!(mean <= 1.3 * size, "{why}: the mean is {mean}");
        }
    }
}
