//! Fixed counts with known intervals, and what holds for all counts.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use proptest::prelude::*;

use super::*;

/// Rows of `golden.py`, which integrates what the code has in closed form.
const GOLDEN: &str = include_str!("tests/golden.tsv");

fn failing(failed: u64, sessions: u64) -> Tally {
    Tally {
        sessions,
        failed,
        completed: sessions - failed,
        slow: failed,
        requests: sessions,
        failed_requests: failed,
    }
}

fn terms() -> Terms {
    Terms::default()
}

fn verdict_of(canary: (u64, u64), stable: (u64, u64)) -> Verdict {
    let (canary, stable) = (failing(canary.0, canary.1), failing(stable.0, stable.1));
    compare(&canary, &stable, &terms()).verdict
}

#[test]
fn intervals_are_those_of_an_independent_computation() {
    let rows = GOLDEN.lines().filter(|line| !line.starts_with('#'));
    let mut seen = 0;
    for row in rows {
        let fields: Vec<f64> = row
            .split('\t')
            .map(|field| field.parse().unwrap())
            .collect();
        let [k, n, j, m, effect, alpha, lower, upper] = fields[..] else {
            panic!("a row has other fields: {row}");
        };
        let terms = Terms::new(effect, alpha).unwrap();
        let (canary, stable) = (failing(k as u64, n as u64), failing(j as u64, m as u64));
        let found = compare(&canary, &stable, &terms).failures.interval;
        for (found, expected) in [(found.lower, lower), (found.upper, upper)] {
            let off = (found - expected).abs();
            assert!(off < 2e-9, "{found} for {expected} in {row}");
        }
        seen += 1;
    }
    assert_eq!(seen, 10, "rows were lost");
}

#[test]
fn a_canary_is_judged_by_where_its_interval_lies() {
    for (canary, stable, expected) in [
        ((140, 2_000), (60, 2_000), Verdict::Worse),
        ((60, 2_000), (140, 2_000), Verdict::Better),
        ((500, 10_000), (510, 10_000), Verdict::NoWorse),
        ((110, 2_000), (100, 2_000), Verdict::NotEnoughYet),
        // surely worse, and as surely by less than a point
        ((53_000, 1_000_000), (50_000, 1_000_000), Verdict::NoWorse),
        ((0, 2_000), (0, 2_000), Verdict::NoWorse),
        ((0, 0), (0, 0), Verdict::NotEnoughYet),
    ] {
        let found = verdict_of(canary, stable);
        assert_eq!(found, expected, "canary {canary:?}, stable {stable:?}");
    }
}

#[test]
fn nothing_is_said_of_a_handful() {
    let few = verdict_of((49, 49), (0, 10_000));
    assert_eq!(few, Verdict::NotEnoughYet, "49 sessions are too few");
    assert_eq!(verdict_of((49, 50), (0, 10_000)), Verdict::Worse);
    let rare = verdict_of((4, 60), (0, 100_000));
    assert_eq!(rare, Verdict::NotEnoughYet, "4 failures are too few");
    assert_eq!(verdict_of((5, 60), (0, 100_000)), Verdict::Worse);
}

#[test]
fn completions_are_judged_the_other_way_round() {
    let comparison = compare(&failing(140, 2_000), &failing(60, 2_000), &terms());
    let (failures, completions) = (comparison.failures, comparison.completions);
    assert_eq!(completions.verdict, Verdict::Worse);
    assert_eq!(completions.canary, Some(0.93));
    assert!(completions.interval.upper < 0.0, "fewer complete");
    assert_eq!(completions.interval.lower, -failures.interval.upper);
}

#[test]
fn the_verdict_stands_on_the_named_measures_only() {
    let slow = Tally {
        slow: 900,
        ..failing(100, 10_000)
    };
    let stable = failing(100, 10_000);
    let alone = compare(&slow, &stable, &terms());
    assert_eq!(alone.slow.verdict, Verdict::Worse, "it is shown");
    assert_eq!(alone.verdict, Verdict::NoWorse, "and does not count");
    let both = Measures::of(&[Measure::Failures, Measure::Slow]).unwrap();
    let both = compare(&slow, &stable, &terms().on(both));
    assert_eq!(both.verdict, Verdict::Worse);
}

#[test]
fn measures_share_alpha() {
    let both = Measures::of(&[Measure::Failures, Measure::Completions]).unwrap();
    let both = terms().on(both);
    assert_eq!(both.alpha_of(Measure::Failures), 0.025);
    assert_eq!(both.alpha_of(Measure::Slow), 0.05, "it stands by itself");
    let (canary, stable) = (failing(60, 1_000), failing(50, 1_000));
    let (wide, narrow) = (
        compare(&canary, &stable, &both).failures.interval,
        compare(&canary, &stable, &terms()).failures.interval,
    );
    assert!(wide.lower < narrow.lower && wide.upper > narrow.upper);
}

#[test]
fn the_sessions_still_needed_bring_the_verdict() {
    for (canary, stable, expected) in [
        ((70, 1_000), (500, 10_000), Verdict::Worse),
        ((50, 1_000), (500, 10_000), Verdict::NoWorse),
        ((102, 2_000), (100, 2_000), Verdict::NoWorse),
        ((12, 20), (10, 20), Verdict::Worse),
    ] {
        let (now, beside) = (failing(canary.0, canary.1), failing(stable.0, stable.1));
        let comparison = compare(&now, &beside, &terms());
        let needed = comparison.needed(&terms()).unwrap();
        assert!(needed > 1, "{canary:?} and {stable:?} are decided");
        let after = |part: f64, tally: &Tally| {
            let factor = 1.0 + part * needed as f64 / canary.1 as f64;
            let grown = |count: u64| (count as f64 * factor).round() as u64;
            failing(grown(tally.failed), grown(tally.sessions))
        };
        let verdict = |part| compare(&after(part, &now), &after(part, &beside), &terms()).verdict;
        let why = format!("{canary:?} and {stable:?} with {needed} more");
        assert_eq!(verdict(1.15), expected, "{why}");
        assert_eq!(verdict(0.8), Verdict::NotEnoughYet, "{why}");
    }
}

#[test]
fn the_naive_comparison_counts_who_was_there_before() {
    let canary = Tally {
        requests: 1_000,
        failed_requests: 50,
        ..failing(50, 1_000)
    };
    let stable = Tally {
        requests: 100_000,
        failed_requests: 10_000,
        ..failing(450, 9_000)
    };
    let naive = compare(&canary, &stable, &terms()).naive;
    let (difference, off) = (naive.difference.unwrap(), naive.off.unwrap());
    assert!((difference + 0.05).abs() < 1e-12, "{difference}");
    assert!((off + 0.05).abs() < 1e-12, "{off}");
}

#[test]
fn terms_without_a_meaning_are_refused() {
    for effect in [0.0, -0.01, 0.6, f64::NAN, f64::INFINITY] {
        assert_eq!(Terms::new(effect, 0.05), Err(TermsError::MinEffect));
    }
    for alpha in [0.0, 1.0, 0.3, f64::NAN] {
        assert_eq!(Terms::new(0.01, alpha), Err(TermsError::Alpha));
    }
    assert_eq!(Measures::of(&[]), None);
    let plain = Terms::new(0.01, 0.05);
    assert_eq!(plain, Ok(Terms::default()), "these are the defaults");
}

fn counts() -> impl Strategy<Value = Tally> {
    let any = || prop_oneof![0..=200_u64, 0..=2_000_000_u64, Just(u64::MAX)];
    (any(), any(), any(), any(), any(), any()).prop_map(
        |(sessions, failed, completed, slow, requests, failed_requests)| Tally {
            sessions,
            failed,
            completed,
            slow,
            requests,
            failed_requests,
        },
    )
}

fn sane() -> impl Strategy<Value = Tally> {
    let sessions = prop_oneof![1..=200_u64, 1..=200_000_u64];
    sessions
        .prop_flat_map(|sessions| (0..=sessions, Just(sessions)))
        .prop_map(|(failed, sessions)| failing(failed, sessions))
}

proptest! {
    #[test]
    fn any_counts_have_an_interval(canary in counts(), stable in counts()) {
        let comparison = compare(&canary, &stable, &terms());
        for measure in Measure::ALL {
            let Interval { lower, upper } = comparison.measured(measure).interval;
            prop_assert!((-1.0..=1.0).contains(&lower), "{comparison:?}");
            prop_assert!((-1.0..=1.0).contains(&upper), "{comparison:?}");
            prop_assert!(lower <= upper, "{comparison:?}");
        }
    }

    #[test]
    fn the_verdict_is_read_off_the_interval(canary in sane(), stable in sane()) {
        let comparison = compare(&canary, &stable, &terms());
        let Interval { lower, upper } = comparison.failures.interval;
        let expected = match (lower, upper) {
            (_, upper) if upper < 0.0 => Verdict::Better,
            (_, upper) if upper < terms().min_effect() => Verdict::NoWorse,
            (lower, _) if lower > 0.0 => Verdict::Worse,
            _ => Verdict::NotEnoughYet,
        };
        prop_assert_eq!(comparison.verdict, expected, "{:?}", comparison);
        prop_assert_eq!(verdict(&canary, &stable, &terms()), expected);
    }

    #[test]
    fn the_other_way_round_it_is_the_other_interval(canary in sane(), stable in sane()) {
        let one = compare(&canary, &stable, &terms()).failures.interval;
        let other = compare(&stable, &canary, &terms()).failures.interval;
        prop_assert!((one.lower + other.upper).abs() < 1e-12, "{one:?} {other:?}");
        prop_assert!((one.upper + other.lower).abs() < 1e-12, "{one:?} {other:?}");
    }
}
