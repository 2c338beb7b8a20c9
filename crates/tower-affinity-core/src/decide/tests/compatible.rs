//! Rules 6 and 8 at level `version`: a group that declares itself able to takes the session over.

use super::ask::{Ask, check, town};
use crate::fixtures::{after, at, name, weights};
use crate::{Level, Newer, Rollout};

/// `town` after `group` has declared itself able to serve sessions of `with`.
fn declared(town: &Rollout, group: &str, with: &[&str]) -> Rollout {
    let with: Vec<_> = with.iter().map(|group| name(group)).collect();
    town.declare(&name(group), &with, after(town, at(0)))
        .unwrap()
}

fn version(ask: Ask, town: &Rollout) -> Ask {
    ask.rollout(town.clone()).level(Level::Version)
}

/// A takes sessions of R and C over, though the draw gives them to B.
fn to_a() -> Rollout {
    declared(&town(), "A", &["R", "C", "E", "G", "F"])
}

#[test]
fn a_session_of_a_group_that_is_gone_or_lost_goes_to_a_compatible_one() {
    let ask = |ask: Ask| version(ask, &to_a());
    check([
        (
            "retired",
            ask(Ask::p("R", 9)),
            "moved/compatible A moved issue",
        ),
        (
            "retired, strict: it may move there",
            ask(Ask::p("R", 9).strict()),
            "moved/compatible A moved issue",
        ),
        (
            "lost",
            ask(Ask::p("C", 9).down(&["C"], 10)),
            "moved/compatible A moved issue",
        ),
        (
            "lost, strict",
            ask(Ask::p("C", 9).strict().down(&["C"], 10)),
            "moved/compatible A moved issue",
        ),
        (
            "without a ready endpoint, within the grace",
            ask(Ask::p("C", 9).down(&["C"], 9)),
            "pinned/draining C established keep",
        ),
        (
            "serves",
            ask(Ask::p("C", 9)),
            "pinned/draining C established keep",
        ),
        (
            "lost, but nobody declared it",
            ask(Ask::p("B", 9).down(&["B"], 10)),
            "moved/group_down A moved issue",
        ),
        (
            "an unknown group, proved",
            ask(Ask::unknown(99).newer(Newer::Proved)),
            "moved/gone B moved issue",
        ),
        (
            "no other level asks",
            Ask::p("R", 9).rollout(to_a()),
            "moved/gone B moved issue",
        ),
        (
            "a first request",
            ask(Ask::new()),
            "assigned/new B current issue",
        ),
    ]);
}

#[test]
fn an_abort_is_obeyed_before_every_declaration() {
    let ask = |ask: Ask| version(ask, &declared(&town(), "B", &["E", "F", "G"]));
    check([
        (
            "aborted",
            ask(Ask::p("E", 9)),
            "moved/aborted A moved issue",
        ),
        (
            "its sessions end",
            ask(Ask::p("G", 9)),
            "refused/aborted_end G established keep",
        ),
        (
            "its sessions stay, and it is lost",
            ask(Ask::p("F", 9).down(&["F"], 10)),
            "moved/group_down A moved issue",
        ),
    ]);
}

#[test]
fn only_a_group_that_is_active_and_ready_takes_a_session_over() {
    let town = town();
    let drains = declared(&town, "C", &["R"]);
    let staged = declared(&town, "D", &["R"]);
    let a = declared(&town, "A", &["R"]);
    check([
        (
            "draining",
            version(Ask::p("R", 9), &drains),
            "moved/gone B moved issue",
        ),
        (
            "staged",
            version(Ask::p("R", 9), &staged),
            "moved/gone B moved issue",
        ),
        (
            "not ready",
            version(Ask::p("R", 9).down(&["A"], 0), &a),
            "moved/gone B moved issue",
        ),
        (
            "not ready, strict",
            version(Ask::p("R", 9).strict().down(&["A"], 0), &a),
            "refused/gone R established keep",
        ),
    ]);
}

#[test]
fn compatible_groups_are_drawn_by_weight_and_else_the_first_by_name_is_taken() {
    let both = declared(&declared(&town(), "B", &["R"]), "A", &["R"]);
    let to = |rollout: &Rollout| version(Ask::p("R", 9), rollout).decision().group.unwrap();
    assert_eq!(to(&both).name(), &name("B"), "as the draw by weight says");
    let only_a = both
        .weights(&weights(&[("B", 0)]), after(&both, at(0)))
        .unwrap();
    assert_eq!(to(&only_a).name(), &name("A"), "B has no weight");
    // neither A nor B has weight, but a third has
    let idle = only_a
        .weights(&weights(&[("D", 5), ("A", 0)]), after(&only_a, at(0)))
        .unwrap();
    assert_eq!(to(&idle).name(), &name("A"), "the first by name");
}

#[test]
fn a_session_takes_one_step_and_a_circle_leads_nobody_round() {
    // C stands in for R and B for C, and the other way round, but only B is active
    let chain = declared(&declared(&town(), "C", &["R", "B"]), "B", &["C"]);
    let answer = version(Ask::p("R", 9), &chain).answer();
    assert_eq!(answer, "moved/gone B moved issue", "B said nothing of R");
    let lost = version(Ask::p("C", 9).down(&["C"], 10), &chain);
    let moved = lost.decision();
    assert_eq!(lost.answer(), "moved/compatible B moved issue");
    let next = version(Ask::with(moved.pin.unwrap()).down(&["C"], 10), &chain);
    assert_eq!(next.answer(), "pinned/ok B moved keep");
}
