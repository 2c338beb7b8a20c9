//! The draw of arms: shares, what a changed weight moves, independence.

use std::collections::BTreeMap;

use super::experiment;
use crate::fixtures::statistics::{ONE_PERCENT, chi_square, fresh};
use crate::fixtures::{rollout, salt};
use crate::{AlwaysReady, DrawKey, EndpointId, Experiment, draw, endpoint_rank};

/// Sessions of a test of independence.
const SESSIONS: u64 = 100_000;

fn arm(experiment: &Experiment, key: DrawKey) -> &str {
    experiment.draw(key).unwrap().name().as_str()
}

fn arms(experiment: &Experiment) -> Vec<&str> {
    (0..20_000).map(|n| arm(experiment, fresh(n))).collect()
}

/// The keys of a hundred thousand sessions, from `first` on, draw as if by two dice.
fn is_independent(first: u64, pair: impl Fn(u64) -> (bool, bool), what: &str) {
    let statistic = chi_square((first..first + SESSIONS).map(pair));
    assert!(
        statistic < ONE_PERCENT,
        "{what}: chi-square {statistic}, p < 0.01"
    );
}

fn halves(name: &str) -> Experiment {
    experiment(name, &[("a", 50), ("b", 50)])
}

#[test]
fn c090_experiments_with_names_that_are_alike_are_independent() {
    for (one, two) in [("exp1", "exp2"), ("a", "b"), ("checkout", "checkout-2")] {
        let (first, second) = (halves(one), halves(two));
        let is_a = |experiment, n| arm(experiment, fresh(n)) == "a";
        let pair = |n| (is_a(&first, n), is_a(&second, n));
        is_independent(0, pair, &format!("{one} and {two}"));
    }
}

#[test]
fn c090_an_arm_is_independent_of_the_group() {
    let salt = salt();
    // the names of the arms are those of the groups: only the salts differ
    for (name, share, group_share) in [("exp1", 50, 50), ("exp1", 90, 95), ("checkout", 50, 50)] {
        let experiment = experiment(name, &[("a", share), ("b", 100 - share)]);
        let rollout = rollout(&[("a", group_share), ("b", 100 - group_share)]);
        let is_a = |key| {
            let group = draw(&salt, key, &rollout, &AlwaysReady).unwrap();
            (arm(&experiment, key) == "a", group.name().as_str() == "a")
        };
        is_independent(0, |n| is_a(fresh(n)), "drawn by the session");
        let user = |n| salt.key_of("x-user", format!("user-{n}").as_bytes());
        is_independent(0, |n| is_a(user(n)), "drawn by the user");
    }
}

#[test]
fn an_arm_is_independent_of_the_endpoint() {
    let experiment = halves("exp1");
    let (one, two) = (EndpointId::new("a"), EndpointId::new("b"));
    let pair = |n| {
        let key = fresh(n);
        let is_one = endpoint_rank(key, &one) > endpoint_rank(key, &two);
        (arm(&experiment, key) == "a", is_one)
    };
    // of independent draws one set of keys in a hundred is over the limit, and the first one is
    is_independent(SESSIONS, pair, "arm and endpoint");
}

#[test]
fn shares_are_the_weights_and_weight_zero_is_nobody() {
    let experiment = experiment("exp", &[("a", 70), ("b", 30), ("c", 0)]);
    let arms = arms(&experiment);
    let mut counts = BTreeMap::new();
    for arm in &arms {
        *counts.entry(*arm).or_insert(0_i64) += 1;
    }
    // 3.3·√(w(1−w)/N) of 20,000
    assert!((counts["a"] - 14_000).abs() <= 213, "{counts:?}");
    assert_eq!(counts.get("c"), None, "{counts:?}");
}

#[test]
fn raising_a_weight_moves_keys_only_to_that_arm() {
    let before = experiment("exp", &[("a", 50), ("b", 10), ("c", 40)]);
    let raised = experiment("exp", &[("a", 50), ("b", 30), ("c", 40)]);
    let (before, raised) = (arms(&before), arms(&raised));
    let moved = || {
        before
            .iter()
            .zip(&raised)
            .filter(|(before, after)| before != after)
    };
    assert!(moved().count() > 1_000, "a raise moves hardly anybody");
    assert!(
        moved().all(|(_, to)| *to == "b"),
        "some moved between arms whose weight stayed"
    );
    // and back: lowered, it moves keys only from that arm
    assert!(moved().all(|(from, _)| *from != "b"));
}

#[test]
fn c090_an_arm_more_without_weight_moves_nobody() {
    let before = experiment("exp", &[("a", 50), ("b", 50)]);
    let more = experiment("exp", &[("c", 0), ("b", 50), ("a", 50)]);
    assert_eq!(
        arms(&before),
        arms(&more),
        "neither do other places in the list"
    );
}

#[test]
fn the_draw_of_arms_is_the_same_in_every_release() {
    // a change here gives the users of a running experiment other arms
    let experiment = experiment("checkout-button", &[("control", 50), ("green", 50)]);
    let drawn: String = (0..16)
        .map(|n| arm(&experiment, fresh(n)).chars().next().unwrap())
        .collect();
    assert_eq!(drawn, "gccccccggcgcgcgg");
}
