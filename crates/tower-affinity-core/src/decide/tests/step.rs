//! Rule 10: a scope whose sessions are drawn anew by a changed weight.

use super::ask::{Ask, check, pin, town};
use crate::fixtures::{after, at, id, name, weights};
use crate::{GroupRef, LastMove, Level, MoveCause, Revision, SessionPin};

/// P(group, 7) in a scope that reassigns; the town's weights are of revision 8.
fn old(group: &str) -> Ask {
    Ask::p(group, 7).reassign()
}

#[test]
fn c035_a_step_draws_sessions_of_active_groups_anew_once() {
    check([
        (
            "drawn to another",
            old("A"),
            "moved/step B established issue",
        ),
        (
            "drawn to its own",
            old("B"),
            "pinned/ok B established issue",
        ),
        ("kept", Ask::p("A", 7), "pinned/ok A established keep"),
        (
            "drawn by these weights already",
            Ask::p("A", 8).reassign(),
            "pinned/ok A established keep",
        ),
        ("draining", old("C"), "pinned/draining C established keep"),
        ("staged", old("D"), "pinned/ok D established keep"),
        ("aborted", old("E"), "moved/aborted A moved issue"),
        (
            "its sessions stay",
            old("F"),
            "pinned/aborted_stay F established keep",
        ),
        ("retired", old("R"), "moved/gone B moved issue"),
        (
            "placed by something else",
            Ask::with(SessionPin {
                placed: true,
                ..pin("A", 7)
            })
            .reassign(),
            "pinned/ok A none keep",
        ),
        (
            "above our revision",
            Ask::with(SessionPin {
                assigned: Revision(7),
                ..pin("A", 11)
            })
            .reassign(),
            "pinned/behind A established keep",
        ),
        (
            "let go",
            Ask::with(pin("A", 7).released()).reassign(),
            "moved/step B established issue",
        ),
        (
            "follow",
            old("A").level(Level::Follow),
            "bypassed/follow A none -",
        ),
        (
            "a balancer in front",
            old("A").serving("A"),
            "pinned/ok A established keep",
        ),
    ]);
}

#[test]
fn no_endpoint_for_a_moment_is_no_reason_to_be_drawn_away() {
    check([
        (
            "its own",
            old("B").down(&["B"], 9),
            "pinned/ok B established issue",
        ),
        (
            "the other",
            old("A").down(&["B"], 9),
            "pinned/ok A established issue",
        ),
        (
            "all",
            old("A").down(&["A", "B"], 9),
            "pinned/ok A established issue",
        ),
        (
            "lost",
            old("B").down(&["B"], 10),
            "moved/group_down A moved issue",
        ),
        (
            "lost, strict",
            old("B").strict().down(&["B"], 10),
            "pinned/ok B established keep",
        ),
    ]);
}

#[test]
fn promote_and_drain_draw_nobody_anew() {
    let promoted = town().promote(&name("B"), after(&town(), at(0))).unwrap();
    let drained = town().drain(&name("B"), after(&town(), at(0))).unwrap();
    for (row, rollout, answer) in [
        ("promote", promoted, "pinned/draining A established keep"),
        ("drain", drained, "pinned/ok A established keep"),
    ] {
        let ask = Ask::p("A", 8).reassign().rollout(rollout);
        assert_eq!(ask.answer(), answer, "{row}");
    }
}

#[test]
fn a_weight_does_and_the_session_is_a_fair_sample() {
    let shares = weights(&[("B", 90)]);
    let stepped = town().weights(&shares, after(&town(), at(0))).unwrap();
    let ask = Ask::p("A", 10).reassign().rollout(stepped);
    assert_eq!(ask.answer(), "moved/step B current issue");
}

#[test]
fn a_step_keeps_the_session_and_says_from_where() {
    let before = SessionPin {
        moves: 1,
        ..pin("A", 7)
    };
    let ask = Ask::with(before.clone()).reassign().now(100);
    let expected = SessionPin {
        group: GroupRef::Known(id("B", 1)),
        issued: at(100),
        expires: at(1900),
        revision: Revision(10),
        assigned: Revision(8),
        moves: 2,
        last_move: Some(LastMove {
            from: GroupRef::Known(id("A", 1)),
            at: at(100),
            cause: MoveCause::Step.into(),
        }),
        ..before
    };
    assert_eq!(ask.decision().pin.unwrap(), expected, "fx is not set");

    let same = pin("B", 7);
    let decision = Ask::with(same.clone()).reassign().now(100).decision();
    let expected = SessionPin {
        issued: at(100),
        expires: at(1900),
        revision: Revision(10),
        assigned: Revision(8),
        ..same
    };
    assert_eq!(decision.pin.unwrap(), expected);
    assert_eq!(decision.group, Some(id("B", 1)));
}
