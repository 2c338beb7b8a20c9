//! Rule 2: a tester's choice of a group.

use super::ask::{Ask, check, pin};
use crate::{Absence, Cohort, GroupRef, Level, SessionPin};

#[test]
fn c014_an_override_stands_before_every_pin_and_leaves_it_alone() {
    check([
        (
            "active",
            Ask::p("A", 10).chosen("B", false),
            "overridden/granted B none -",
        ),
        (
            "staged",
            Ask::p("A", 10).chosen("D", false),
            "overridden/granted D none -",
        ),
        (
            "draining",
            Ask::new().chosen("C", false),
            "overridden/granted C none -",
        ),
        (
            "not ready",
            Ask::new().chosen("B", false).down(&["B"], 60),
            "overridden/granted B none -",
        ),
        (
            "before an abort",
            Ask::p("E", 9).chosen("B", false),
            "overridden/granted B none -",
        ),
        (
            "aborted",
            Ask::new().chosen("E", false),
            "refused/override_not_routable E none -",
        ),
        (
            "stays",
            Ask::new().chosen("F", true),
            "refused/override_not_routable F none -",
        ),
        (
            "retired",
            Ask::p("A", 10).chosen("R", true),
            "refused/override_not_routable R none -",
        ),
        (
            "follow",
            Ask::new().level(Level::Follow).chosen("D", true),
            "overridden/granted D none -",
        ),
        (
            "none",
            Ask::new().level(Level::None).chosen("D", true),
            "bypassed/none A none -",
        ),
        (
            "no scope",
            Ask::new().no_scope().chosen("D", true),
            "bypassed/none A none -",
        ),
        (
            "sticky, draining",
            Ask::p("A", 10).chosen("C", true),
            "overridden/granted C none -",
        ),
        (
            "sticky",
            Ask::p("A", 10).chosen("D", true),
            "overridden/sticky D none issue",
        ),
        (
            "sticky, pinned there",
            Ask::p("D", 10).chosen("D", true),
            "overridden/sticky D none keep",
        ),
        (
            "sticky, due",
            Ask::p("D", 10).chosen("D", true).now(450),
            "overridden/sticky D none issue",
        ),
        (
            "sticky, a cookie may be kept back",
            Ask::without(Absence::Withheld).chosen("D", true),
            "overridden/granted D none -",
        ),
        (
            "another process",
            Ask::new().chosen("D", false).serving("A"),
            "refused/not_served_here D none -",
        ),
    ]);
}

#[test]
fn a_sticky_override_begins_a_session_of_its_own() {
    let fresh = super::ask::drawn_to_a();
    let mut ask = Ask::p("A", 10).chosen("D", true);
    ask.fresh = fresh;
    let decision = ask.decision();
    let new = decision.pin.unwrap();
    assert_ne!(new.session, pin("A", 10).session);
    assert_eq!((new.session, new.placed, new.moves), (fresh, true, 0));
    let later = Ask::with(new).decision();
    assert_eq!(
        (later.kind.as_str(), later.cohort),
        ("pinned", Cohort::None)
    );
}

#[test]
fn an_unknown_group_is_refused() {
    let mut ask = Ask::new().chosen("A", false);
    ask.chosen.as_mut().unwrap().group = GroupRef::Unknown(crate::GroupCode::new([1; 10]));
    assert_eq!(ask.answer(), "refused/override_not_routable none none -");
}

#[test]
fn a_session_that_is_pinned_there_is_kept() {
    let old = SessionPin {
        moves: 2,
        ..pin("D", 9)
    };
    let kept = Ask::with(old.clone()).chosen("D", true).decision();
    assert_eq!(kept.pin, Some(old));
}
