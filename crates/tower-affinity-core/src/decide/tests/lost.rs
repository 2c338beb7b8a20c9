//! Rule 8: a group without a ready endpoint.

use super::ask::{Ask, check};

#[test]
fn a_group_is_lost_after_the_grace_and_not_before() {
    check([
        (
            "at once",
            Ask::p("B", 9).down(&["B"], 0),
            "pinned/ok B established keep",
        ),
        (
            "in the tenth second",
            Ask::p("B", 9).down(&["B"], 9),
            "pinned/ok B established keep",
        ),
        (
            "after ten seconds",
            Ask::p("B", 9).down(&["B"], 10),
            "moved/group_down A moved issue",
        ),
        (
            "draining",
            Ask::p("C", 9).down(&["C"], 10),
            "moved/group_down B moved issue",
        ),
        (
            "staged",
            Ask::p("D", 9).down(&["D"], 10),
            "moved/group_down B moved issue",
        ),
        (
            "draining, within",
            Ask::p("C", 9).down(&["C"], 9),
            "pinned/draining C established keep",
        ),
    ]);
}

#[test]
fn a_strict_scope_waits_for_its_group() {
    check([
        (
            "active",
            Ask::p("B", 9).strict().down(&["B"], 600),
            "pinned/ok B established keep",
        ),
        (
            "draining",
            Ask::p("C", 9).strict().down(&["C"], 600),
            "pinned/draining C established keep",
        ),
    ]);
}

#[test]
fn if_more_than_half_of_the_groups_are_lost_nobody_moves() {
    // three groups are active or draining; staged ones do not count
    check([
        (
            "one of three",
            Ask::p("C", 9).down(&["C"], 10),
            "moved/group_down B moved issue",
        ),
        (
            "two of three",
            Ask::p("C", 9).down(&["B", "C"], 10),
            "pinned/draining C established keep",
        ),
        (
            "all three",
            Ask::p("A", 9).down(&["A", "B", "C"], 10),
            "pinned/ok A established keep",
        ),
        (
            "a staged one beside it",
            Ask::p("C", 9).down(&["C", "D"], 10),
            "moved/group_down B moved issue",
        ),
    ]);
}

#[test]
fn exactly_half_is_still_a_move() {
    let two = crate::fixtures::rollout(&[("A", 90), ("B", 10)]);
    check([
        (
            "one of two",
            Ask::p("B", 9).rollout(two.clone()).down(&["B"], 10),
            "moved/group_down A moved issue",
        ),
        (
            "two of two",
            Ask::p("B", 9).rollout(two).down(&["A", "B"], 10),
            "pinned/ok B established keep",
        ),
    ]);
}

#[test]
fn a_lost_only_group_keeps_its_sessions() {
    let one = crate::fixtures::rollout(&[("A", 1)]);
    let answer = Ask::p("A", 9).rollout(one).down(&["A"], 600).answer();
    assert_eq!(answer, "pinned/ok A established keep");
}

#[test]
fn without_a_group_to_go_to_the_pin_is_kept() {
    // A is down within its grace, so it is not lost, but nothing can be drawn
    let mut ask = Ask::p("C", 9).down(&["C"], 10);
    let zero = crate::fixtures::weights(&[("A", 0), ("B", 10)]);
    let change = crate::fixtures::after(&ask.rollout, crate::fixtures::at(0));
    ask.rollout = ask.rollout.weights(&zero, change).unwrap();
    ask = ask.down(&["B", "C"], 10);
    assert_eq!(ask.answer(), "pinned/draining C established keep");
}

#[test]
fn a_lost_group_is_left_by_the_scopes_key_where_there_is_one() {
    let key = super::ask::drawn_to_a().into();
    let answer = Ask::p("C", 9).key(key).down(&["C"], 10).answer();
    assert_eq!(answer, "moved/group_down A moved issue");
}
