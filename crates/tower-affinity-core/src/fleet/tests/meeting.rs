//! How the state of a replica and the shared one become the same.

use crate::fixtures::{after, at, id, name, rollout, weights};
use crate::{
    AbortRequest, AlwaysReady, Fact, Meeting, Revision, Rollout, Status, contribution, meet,
};

fn two() -> Rollout {
    rollout(&[("A", 80), ("B", 20)])
}

fn weighed(shared: &Rollout, share: u16) -> Rollout {
    let change = after(shared, at(60));
    shared
        .weights(&weights(&[("B", share.into())]), change)
        .unwrap()
}

fn fact(shared: &Rollout) -> Fact {
    let change = after(shared, at(60));
    let request = AbortRequest::default();
    let next = shared.abort(&name("B"), &request, &AlwaysReady, change);
    Fact::of(shared, &next.unwrap(), &id("B", 1)).unwrap()
}

#[test]
fn a_newer_shared_state_is_taken() {
    assert_eq!(meet(&two(), &weighed(&two(), 5)), Meeting::Theirs);
    assert_eq!(meet(&two(), &two()), Meeting::Same);
}

#[test]
fn a_state_that_was_lost_is_written_back_as_it_is() {
    let ours = weighed(&two(), 5);
    assert_eq!(meet(&ours, &two()), Meeting::Ours(ours.clone()));
}

#[test]
fn of_two_states_with_one_number_the_replicas_becomes_a_greater_one() {
    let (ours, theirs) = (weighed(&two(), 5), weighed(&two(), 7));
    let Meeting::Ours(raised) = meet(&ours, &theirs) else {
        panic!("it is not written back");
    };
    assert_eq!(raised.revision(), theirs.revision().next());
    assert_eq!(raised.groups(), ours.groups());
    assert_eq!(meet(&theirs, &raised), Meeting::Theirs);
}

#[test]
fn an_abort_goes_first_then_groups_then_a_revision_that_a_pin_has_shown() {
    let shared = two();
    let (facts, change) = ([fact(&shared)], after(&shared, at(90)));
    let groups = || Some(weighed(&shared, 5));
    let shown = Revision(shared.revision().0 + 9);
    let with = |facts: &[Fact], groups: &dyn Fn() -> Option<Rollout>, shown| {
        contribution(&shared, facts, groups, shown, change)
    };
    let aborted = with(&facts, &groups, shown).unwrap();
    assert!(matches!(aborted.status(&id("B", 1)), Status::Aborted(_)));
    assert_eq!(with(&[], &groups, shown), groups());
    assert_eq!(with(&[], &|| None, shown), Some(shared.raised(shown)));
    assert_eq!(with(&[], &|| None, shared.revision()), None);
}

#[test]
fn a_fact_that_stands_against_the_shared_state_is_not_brought_in() {
    let base = two();
    let (fact, shared) = (fact(&base), weighed(&base, 5));
    let change = after(&shared, at(90));
    let next = contribution(&shared, &[fact], || None, shared.revision(), change);
    assert_eq!(next, None);
}
