//! That a report is a function of the plan and the seed.

use super::*;

const STEPS: &str = "[[step]]\nweights = { \"9f1c2ab\" = 9, \"c3d4e5f\" = 1 }\nhold = \"10m\"\n\
    [[step]]\npromote = \"c3d4e5f\"\nuntil = \"drained\"\n";

/// Most sessions are short, a few very long.
const WIDE: &str = "[traffic]\narrivals_per_second = 2.5\nwarm_up = \"30m\"\n\
    length = { distribution = \"lognormal\", p50 = \"3m\", p95 = \"20m\" }\n\
    think = { distribution = \"exponential\", mean = \"10s\" }\n";

#[test]
fn one_seed_is_one_report() {
    let settings = settings("");
    let plan = plan(&settings, &format!("{WIDE}{STEPS}"));
    let report = |seed| serde_json::to_string(&simulate(&settings, &plan, seed).unwrap()).unwrap();
    assert_eq!(report(7), report(7));
    assert_ne!(report(7), report(8));
}

#[test]
fn lengths_are_as_wide_as_the_plan_says() {
    use crate::simulate::{Length, dice::Dice};
    let minutes = |n: u64| n * 60_000;
    let wide = Length::Lognormal {
        p50: minutes(3),
        p95: minutes(20),
    };
    let mut dice = Dice::new(1);
    let all = 20_000;
    let lengths: Vec<_> = (0..all)
        .map(|_| wide.draw(&mut dice).as_millis() as u64)
        .collect();
    for (bound, share) in [(minutes(3), 0.5), (minutes(20), 0.95)] {
        let shorter = lengths.iter().filter(|length| **length < bound).count() as u64;
        assert_binomial(shorter, all, share);
    }
    let longer = lengths
        .iter()
        .filter(|length| **length > wide.p999().as_millis() as u64);
    assert_binomial(longer.count() as u64, all, 0.001);
}

#[test]
fn requests_come_as_often_as_the_plan_says() {
    use crate::simulate::{Think, dice::Dice, play::EPOCH};
    let mean = 20_000;
    let mut dice = Dice::new(1);
    let (begun, at) = (EPOCH, EPOCH.plus(std::time::Duration::from_secs(50)));
    let fixed = Think::Fixed { mean }.first(begun, at, &mut dice);
    assert_eq!(
        fixed.since(begun).as_secs(),
        60,
        "the third after the first"
    );
    let all = 20_000;
    let mut wait = || {
        Think::Exponential { mean }
            .first(begun, at, &mut dice)
            .since(at)
    };
    let shorter = (0..all)
        .filter(|_| wait().as_millis() < u128::from(mean))
        .count();
    assert_binomial(shorter as u64, all, 1.0 - (-1.0_f64).exp());
}
