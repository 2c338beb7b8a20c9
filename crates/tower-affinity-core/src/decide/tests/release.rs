//! Rule 9: a session that its application lets go at a safe point.

use super::ask::{Ask, check, pin, town};
use crate::decide::may_release;
use crate::fixtures::{after, at, id, name};
use crate::{GroupRef, LastMove, MoveCause, Revision, SessionPin};

/// P(group, 9), let go by its application.
fn let_go(group: &str) -> Ask {
    Ask::with(pin(group, 9).released())
}

#[test]
fn c119_a_session_that_is_let_go_moves_only_from_a_draining_to_a_ready_stable_group() {
    check([
        ("draining", let_go("C"), "moved/released A moved issue"),
        (
            "draining, strict",
            let_go("C").strict(),
            "moved/released A moved issue",
        ),
        (
            "the stable group has no ready endpoint",
            let_go("C").down(&["A"], 1),
            "pinned/draining C established issue",
        ),
        ("active", let_go("B"), "pinned/ok B established issue"),
        ("staged", let_go("D"), "pinned/ok D established issue"),
        (
            "aborted, its sessions stay",
            let_go("F"),
            "pinned/aborted_stay F established issue",
        ),
        ("aborted", let_go("E"), "moved/aborted A moved issue"),
        ("retired", let_go("R"), "moved/gone B moved issue"),
        (
            "draining and lost: moved by weights",
            let_go("C").down(&["C"], 10),
            "moved/group_down B moved issue",
        ),
        (
            "draining and lost, strict: it waits",
            let_go("C").strict().down(&["C"], 10),
            "pinned/draining C established keep",
        ),
        (
            "draining, within the grace",
            let_go("C").down(&["C"], 9),
            "moved/released A moved issue",
        ),
        (
            "above our revision",
            Ask::with(pin("C", 11).released()),
            "pinned/behind C current keep",
        ),
    ]);
}

#[test]
fn the_move_of_a_released_session_is_told_and_drops_the_word() {
    let old = SessionPin {
        assigned: Revision(4),
        ..pin("C", 9).released()
    };
    let new = Ask::with(old.clone()).now(100).decision().pin.unwrap();
    let expected = SessionPin {
        group: GroupRef::Known(id("A", 1)),
        issued: at(100),
        expires: at(1900),
        revision: Revision(10),
        moves: 1,
        last_move: Some(LastMove {
            from: GroupRef::Known(id("C", 1)),
            at: at(100),
            cause: MoveCause::Released.into(),
        }),
        placed: true,
        released: false,
        ..old
    };
    assert_eq!(new, expected);
}

#[test]
fn a_session_with_nowhere_to_go_is_held_by_one_issue_without_the_word() {
    let again = town().promote(&name("C"), after(&town(), at(0))).unwrap();
    let ask = let_go("C").rollout(again.clone()).now(7);
    let held = ask.decision();
    let pin = held.pin.unwrap();
    assert!(held.issue && !pin.released);
    assert_eq!((pin.issued, pin.revision), (at(7), again.revision()));
    let next = Ask::with(pin).rollout(again).now(8);
    assert_eq!(next.answer(), "pinned/ok C established keep");
}

#[test]
fn a_renewal_above_our_revision_keeps_the_word() {
    let ask = Ask::with(pin("C", 11).released()).now(450);
    let renewed = ask.decision();
    assert!(renewed.issue && renewed.pin.unwrap().released);
    let renewed = let_go("C").strict().down(&["C"], 10).now(451);
    let renewed = renewed.down(&["C"], 10).decision();
    assert!(renewed.issue && renewed.pin.unwrap().released, "it waits");
}

#[test]
fn only_a_draining_group_can_be_left() {
    let town = town();
    for (group, able) in [
        ("A", false),
        ("C", true),
        ("D", false),
        ("F", false),
        ("R", false),
    ] {
        let ask = Ask::new();
        assert_eq!(
            may_release(&town, &ask.view, &id(group, 1)),
            able,
            "{group}"
        );
        let ask = ask.down(&["A"], 0);
        assert!(!may_release(&town, &ask.view, &id(group, 1)), "{group}");
    }
    assert!(!may_release(&town, &Ask::new().view, &id("C", 2)));
}
