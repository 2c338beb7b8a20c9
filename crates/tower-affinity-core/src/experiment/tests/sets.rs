//! What is an experiment, and what is none.

use super::{experiment, made, set};
use crate::{ArmName, ExperimentError, ExperimentName, ExperimentSet, MAX_ARMS, MAX_EXPERIMENTS};

#[test]
fn names_are_a_closed_alphabet() {
    let longest = "x".repeat(32);
    for good in ["a", "checkout-button", "0", "-", longest.as_str()] {
        assert_eq!(good.parse::<ExperimentName>().unwrap().as_str(), good);
        assert_eq!(good.parse::<ArmName>().unwrap().as_str(), good);
    }
    let long = "x".repeat(33);
    for bad in [
        "",
        "A",
        "a b",
        "a_b",
        "a=b",
        "a,b",
        "é",
        "a\n",
        long.as_str(),
    ] {
        assert!(
            bad.parse::<ExperimentName>().is_err(),
            "{bad:?} was accepted"
        );
        assert!(bad.parse::<ArmName>().is_err(), "{bad:?} was accepted");
    }
}

#[test]
fn an_experiment_needs_an_arm_with_weight() {
    for arms in [&[][..], &[("a", 0)], &[("a", 0), ("b", 0)]] {
        let error = made("exp", arms).unwrap_err();
        assert_eq!(error, ExperimentError::NoWeight("exp".parse().unwrap()));
    }
    assert!(made("exp", &[("a", 0), ("b", 1)]).is_ok());
}

#[test]
fn an_experiment_has_no_two_arms_of_one_name_and_not_too_many() {
    let error = made("exp", &[("a", 1), ("b", 1), ("a", 2)]).unwrap_err();
    let text = "pins cannot tell the arms \"a\" and \"a\" of the experiment \"exp\" apart";
    assert_eq!(error.to_string(), text);
    let names: Vec<String> = (0..=MAX_ARMS).map(|n| format!("arm-{n}")).collect();
    let arms: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let (_, fewer) = arms.split_last().unwrap();
    assert_eq!(made("exp", fewer).unwrap().arms().len(), MAX_ARMS);
    let error = made("exp", &arms).unwrap_err();
    assert_eq!(error, ExperimentError::TooManyArms("exp".parse().unwrap()));
}

#[test]
fn a_set_has_no_two_experiments_of_one_name_and_not_too_many() {
    let all = (0..=MAX_EXPERIMENTS).map(|n| experiment(&format!("exp{n}"), &[("a", 1)]));
    let all: Vec<_> = all.collect();
    let (last, fewer) = all.split_last().unwrap();
    let eight = set(fewer.iter().cloned());
    assert_eq!(eight.position("exp3"), Some(3));
    assert_eq!(eight.position(last.name().as_str()), None);
    let error = ExperimentSet::new(all.clone()).unwrap_err();
    assert_eq!(error, ExperimentError::TooManyExperiments);
    let error = ExperimentSet::new(fewer.iter().take(1).chain(fewer).cloned()).unwrap_err();
    assert!(
        matches!(error, ExperimentError::SameExperiments(..)),
        "{error}"
    );
}

/// The name that pins cannot tell from one before it, out of many made of numbers.
fn alike(made: impl Fn(u32) -> bool) -> u32 {
    (0..100_000)
        .find(|n| made(*n))
        .expect("names without end differ")
}

#[test]
fn names_that_pins_cannot_tell_apart_are_refused() {
    let one = |n: u32| experiment("exp", &[(&format!("a{n}"), 1)]);
    let code = |n: u32| one(n).code_of(one(n).arms().first().unwrap());
    let first = code(0);
    let twin = alike(|n| n > 0 && code(n) == first);
    let error = made("exp", &[("a0", 1), (&format!("a{twin}"), 1)]).unwrap_err();
    assert!(matches!(error, ExperimentError::SameArms(..)), "{error}");
}
