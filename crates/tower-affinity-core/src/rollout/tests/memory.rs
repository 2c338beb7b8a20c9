//! What is remembered of groups that are gone, and for how long.

use super::shape::{shape, town};
use crate::fixtures::{TA, View, after, at, id, name, weight, weights};
use crate::{AbortPolicy, AbortRequest, Rollout, Status, TOMBSTONE_GRACE};

/// How long an old id is remembered, in seconds.
fn memory() -> i64 {
    i64::try_from((TA + TOMBSTONE_GRACE).as_secs()).unwrap()
}

fn is_aborted(rollout: &Rollout, group: &str) -> bool {
    matches!(rollout.status(&id(group, 1)), Status::Aborted(_))
}

/// The rollout after a change at that time that touches nothing but a new group.
fn touched(rollout: &Rollout, secs: i64) -> Rollout {
    let other = name(&format!("at{secs}"));
    rollout
        .register(&other, weight(0), after(rollout, at(secs)))
        .unwrap()
}

#[test]
fn an_aborted_id_stays_aborted_after_it_is_retired_until_no_pin_can_be_valid() {
    let retired = town()
        .retire(&name("E"), None, false, after(&town(), at(0)))
        .unwrap();
    assert!(shape(&retired).contains("E retired"));
    assert!(is_aborted(&retired, "E"));
    assert!(is_aborted(&touched(&retired, memory() - 1), "E"));
    assert!(!is_aborted(&touched(&retired, memory()), "E"));
}

#[test]
fn an_aborted_id_is_named_once_after_it_is_retired_and_restored() {
    let retired = town()
        .retire(&name("E"), None, false, after(&town(), at(0)))
        .unwrap();
    let restored = retired
        .restore(&name("E"), after(&retired, at(100)))
        .unwrap();
    for rollout in [retired, restored] {
        let named = rollout.ids().filter(|known| **known == id("E", 1));
        assert_eq!(named.count(), 1, "{}", shape(&rollout));
    }
}

#[test]
fn an_aborted_id_stays_aborted_after_it_is_restored() {
    let restored = town().restore(&name("E"), after(&town(), at(0))).unwrap();
    assert!(is_aborted(&restored, "E"));
    assert!(matches!(restored.status(&id("E", 2)), Status::Serving(_)));
    assert!(is_aborted(&touched(&restored, memory() - 1), "E"));
    let later = touched(&restored, memory());
    assert_eq!(
        later.status(&id("E", 1)),
        Status::Gone,
        "the tombstone is gone"
    );
    assert!(
        matches!(later.status(&id("E", 2)), Status::Serving(_)),
        "the group is not"
    );
}

#[test]
fn an_aborted_id_stays_aborted_through_retire_and_restore() {
    let retired = town()
        .retire(&name("E"), None, false, after(&town(), at(0)))
        .unwrap();
    let restored = retired
        .restore(&name("E"), after(&retired, at(100)))
        .unwrap();
    assert!(
        is_aborted(&restored, "E"),
        "the abort is remembered before the retirement"
    );
    assert_eq!(
        restored.status(&id("E", 2)),
        Status::Serving(restored.group(&name("E")).unwrap())
    );
}

#[test]
fn an_aborted_group_is_never_forgotten_while_it_is_not_retired() {
    let much_later = touched(&town(), 10 * memory());
    assert!(is_aborted(&much_later, "E"));
}

#[test]
fn the_policy_of_an_abort_is_remembered_too() {
    let request = AbortRequest {
        policy: Some(AbortPolicy::End),
        ..AbortRequest::default()
    };
    let view = View::default();
    let ended = town()
        .abort(&name("B"), &request, &view, after(&town(), at(0)))
        .unwrap();
    let restored = ended.restore(&name("B"), after(&ended, at(1))).unwrap();
    let Status::Aborted(abort) = restored.status(&id("B", 1)) else {
        panic!("the abort is forgotten");
    };
    assert_eq!(
        (abort.policy, &abort.target),
        (AbortPolicy::End, &id("A", 1))
    );
}

#[test]
fn a_retired_group_is_forgotten_when_no_pin_to_it_can_be_valid() {
    let before = touched(&town(), memory() - 1);
    assert!(before.group(&name("R")).is_some());
    let after = touched(&town(), memory());
    assert!(after.group(&name("R")).is_none());
    assert_eq!(after.status(&id("R", 1)), Status::Gone);
}

#[test]
fn a_name_that_was_retired_long_ago_can_be_registered_and_restored() {
    let long = at(10 * memory());
    let registered = town()
        .register(&name("R"), weight(5), after(&town(), long))
        .unwrap();
    assert_eq!(
        registered.group(&name("R")).unwrap().state().name(),
        "active"
    );
    let restored = town().restore(&name("R"), after(&town(), long)).unwrap();
    let group = restored.group(&name("R")).unwrap();
    assert_eq!((group.state().name(), group.id()), ("staged", &id("R", 2)));
}

#[test]
fn every_generation_of_a_name_is_told_apart() {
    let mut rollout = town();
    for generation in 2..6 {
        let change = after(&rollout, at(i64::from(generation)));
        rollout = rollout.restore(&name("R"), change).unwrap();
        rollout = rollout
            .retire(&name("R"), None, false, after(&rollout, at(0)))
            .unwrap();
        assert_eq!(
            rollout.group(&name("R")).unwrap().id(),
            &id("R", generation)
        );
    }
    let known: Vec<_> = rollout.ids().filter(|id| id.name() == &name("R")).collect();
    assert_eq!(
        known.len(),
        5,
        "old pins of all generations are recognised: {known:?}"
    );
}

#[test]
fn a_weight_of_a_forgotten_group_is_refused_and_not_lost() {
    let change = after(&town(), at(10 * memory()));
    assert!(town().weights(&weights(&[("R", 5)]), change).is_err());
}

#[test]
fn memories_do_not_pile_up() {
    let mut rollout = town();
    for round in 0..200 {
        let now = round * memory() / 10;
        rollout = rollout
            .restore(&name("E"), after(&rollout, at(now)))
            .unwrap();
        let request = AbortRequest::default();
        let change = after(&rollout, at(now));
        rollout = rollout
            .abort(&name("E"), &request, &View::default(), change)
            .unwrap();
    }
    let ids = rollout.ids().count();
    assert!(ids <= 6 + 11, "{ids} ids are remembered");
}
