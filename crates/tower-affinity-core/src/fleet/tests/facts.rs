//! Aborts that the shared state has not heard of.

use proptest::prelude::*;

use crate::fixtures::{after, at, id, name, rollout, weights};
use crate::{
    AbortPolicy, AbortRequest, AlwaysReady, Fact, GroupId, Rollout, Standing, Status, obeyed,
};

/// Three groups, A stable.
fn three() -> Rollout {
    rollout(&[("A", 80), ("B", 20), ("C", 10)])
}

fn aborted(rollout: &Rollout, group: &str, to: Option<&str>) -> Rollout {
    let request = AbortRequest {
        to: to.map(name),
        ..AbortRequest::default()
    };
    let change = after(rollout, at(60));
    rollout
        .abort(&name(group), &request, &AlwaysReady, change)
        .unwrap()
}

/// The fact of an abort that a replica takes on what it obeys.
fn fact(obeys: &Rollout, group: &str, to: Option<&str>) -> Fact {
    let after = aborted(obeys, group, to);
    Fact::of(obeys, &after, &id(group, 1)).expect("it aborts the group")
}

fn merged(shared: &Rollout, fact: &Fact) -> Rollout {
    assert_eq!(fact.standing(shared), Standing::Merges);
    fact.merged(shared, after(shared, at(120)))
}

fn target(rollout: &Rollout, group: &str) -> Option<GroupId> {
    match rollout.status(&id(group, 1)) {
        Status::Aborted(abort) => Some(abort.target.clone()),
        _ => None,
    }
}

#[test]
fn an_abort_is_obeyed_under_the_same_revision() {
    let shared = three();
    let over = fact(&shared, "B", None).over(&shared);
    assert_eq!(over.revision(), shared.revision());
    assert_eq!(over.step_revision(), shared.step_revision());
    assert_eq!(target(&over, "B"), Some(id("A", 1)));
    assert_eq!(over.group(&name("A")).unwrap().weight().get(), 100);
    assert_eq!(
        Rollout::from_document(&over.to_document()).unwrap(),
        over,
        "it is valid"
    );
}

#[test]
fn it_merges_if_nobody_changed_the_group_since() {
    let shared = three();
    let fact = fact(&shared, "B", None);
    let change = after(&shared, at(100));
    // another group was changed, and that is no matter
    let shared = shared.drain(&name("C"), change).unwrap();
    let next = merged(&shared, &fact);
    assert!(next.revision() > shared.revision());
    assert_eq!(next.step_revision(), next.revision());
    assert_eq!(target(&next, "B"), Some(id("A", 1)));
    assert_eq!(fact.standing(&next), Standing::Done);
}

#[test]
fn a_change_of_the_groups_state_weight_or_stability_is_a_conflict() {
    let base = three();
    let fact = fact(&base, "B", None);
    let change = after(&base, at(100));
    let changed = [
        base.weights(&weights(&[("B", 50)]), change).unwrap(),
        base.drain(&name("B"), change).unwrap(),
        base.promote(&name("B"), change).unwrap(),
    ];
    for shared in changed {
        assert_eq!(fact.standing(&shared), Standing::Conflicts);
        let over = fact.over(&shared);
        assert!(target(&over, "B").is_some(), "it is obeyed all the same");
        assert_eq!(over.revision(), shared.revision());
    }
}

#[test]
fn a_disputed_fact_merges_no_more_even_if_the_group_is_changed_back() {
    let shared = three();
    let mut fact = fact(&shared, "B", None);
    fact.disputed = true;
    assert_eq!(fact.standing(&shared), Standing::Conflicts);
}

#[test]
fn the_first_abort_in_the_shared_state_names_the_target() {
    let shared = three();
    let (first, second) = (fact(&shared, "B", Some("A")), fact(&shared, "B", Some("C")));
    let next = merged(&shared, &first);
    assert_eq!(second.standing(&next), Standing::Done);
    assert_eq!(target(&second.over(&next), "B"), Some(id("A", 1)));
}

#[test]
fn two_that_aborted_each_others_target_leave_one_active_and_one_conflict() {
    let shared = rollout(&[("A", 80), ("B", 20)]);
    let (one, two) = (fact(&shared, "A", Some("B")), fact(&shared, "B", Some("A")));
    let next = merged(&shared, &one);
    assert_eq!(two.standing(&next), Standing::Conflicts);
    // no group could take the sessions: the shared state is obeyed
    assert_eq!(two.over(&next), next);
    assert_eq!(next.stable(), &name("B"));
}

#[test]
fn a_target_that_is_gone_is_replaced_by_the_default_one() {
    let shared = three();
    let fact = fact(&shared, "B", Some("C"));
    let shared = aborted(&shared, "C", None);
    assert_eq!(target(&fact.over(&shared), "B"), Some(id("A", 1)));
}

#[test]
fn a_late_fact_never_touches_the_restored_group() {
    let base = three();
    let fact = fact(&base, "B", None);
    let gone = aborted(&base, "B", None);
    let shared = gone.restore(&name("B"), after(&gone, at(200))).unwrap();
    assert_eq!(fact.standing(&shared), Standing::Done);
    assert_eq!(fact.over(&shared), shared);
    assert!(matches!(shared.status(&id("B", 2)), Status::Serving(_)));
}

#[test]
fn facts_that_build_on_each_other_merge_in_order() {
    let shared = three();
    let first = fact(&shared, "A", Some("B"));
    let obeys = obeyed(&shared, std::slice::from_ref(&first));
    let second = fact(&obeys, "B", Some("C"));
    assert_eq!(
        second.standing(&shared),
        Standing::Conflicts,
        "not before the first"
    );
    let next = merged(&shared, &first);
    let next = merged(&next, &second);
    assert_eq!(next.stable(), &name("C"));
    assert_eq!(
        obeyed(&shared, &[first, second]).groups(),
        next.groups(),
        "what the replica obeyed meanwhile"
    );
}

#[test]
fn a_fact_survives_a_restart() {
    let fact = fact(&three(), "B", None).with_policy(AbortPolicy::Stay { until: at(600) });
    assert_eq!(Fact::from_document(&fact.to_document()).unwrap(), fact);
    for wrong in ["null", "{}", r#"{"name":"B"}"#] {
        let wrong: serde_json::Value = serde_json::from_str(wrong).unwrap();
        assert!(Fact::from_document(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_aborts_nothing_is_no_fact() {
    let shared = three();
    let gone = aborted(&shared, "B", None);
    assert_eq!(
        Fact::of(&gone, &aborted(&gone, "B", None), &id("B", 1)),
        None
    );
    assert_eq!(Fact::of(&shared, &shared, &id("B", 1)), None);
}

proptest! {
    /// Any facts over any state leave a valid rollout in which none of them serves, unless nobody
    /// else could.
    #[test]
    fn what_is_obeyed_is_always_a_valid_rollout(
        aborts in proptest::collection::vec((0..4_usize, 0..4_usize), 0..6),
        changes in proptest::collection::vec((0..4_usize, 0..3_u8), 0..6),
    ) {
        let names = ["A", "B", "C", "D"];
        let mut shared = rollout(&[("A", 70), ("B", 20), ("C", 10), ("D", 0)]);
        let mut facts = Vec::new();
        let mut obeys = shared.clone();
        for (group, to) in aborts {
            let request = AbortRequest { to: Some(name(names[to])), ..AbortRequest::default() };
            let change = after(&obeys, at(60));
            let Ok(next) = obeys.abort(&name(names[group]), &request, &AlwaysReady, change) else {
                continue;
            };
            facts.extend(Fact::of(&obeys, &next, &id(names[group], 1)));
            obeys = obeyed(&shared, &facts);
        }
        for (group, kind) in changes {
            let (group, change) = (name(names[group]), after(&shared, at(90)));
            let changed = match kind {
                0 => shared.promote(&group, change),
                1 => shared.drain(&group, change),
                _ => shared.weights(&weights(&[(group.as_str(), 7)]), change),
            };
            shared = changed.unwrap_or(shared);
            let obeys = obeyed(&shared, &facts);
            prop_assert_eq!(obeys.revision(), shared.revision());
            prop_assert_eq!(&Rollout::from_document(&obeys.to_document()).unwrap(), &obeys);
        }
        for fact in &facts {
            if fact.standing(&shared) == Standing::Merges {
                shared = fact.merged(&shared, after(&shared, at(120)));
                prop_assert!(matches!(shared.status(&fact.id), Status::Aborted(_)));
            }
        }
        prop_assert_eq!(&Rollout::from_document(&shared.to_document()).unwrap(), &shared);
    }
}
