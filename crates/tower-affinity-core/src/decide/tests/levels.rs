//! Rules 1 and 3: requests outside of scopes, and the levels below `group`.

use super::ask::{Ask, abort, check, drawn_to_a, town};
use crate::fixtures::{View, after, at, name};
use crate::{AbortPolicy, Absence, Fault, Level};

#[test]
fn without_a_session_the_stable_group_serves() {
    check([
        ("no scope", Ask::new().no_scope(), "bypassed/none A none -"),
        (
            "no scope, a pin",
            Ask::p("B", 10).no_scope(),
            "bypassed/none A none -",
        ),
        (
            "none",
            Ask::new().level(Level::None),
            "bypassed/none A none -",
        ),
        (
            "none, a pin",
            Ask::p("B", 10).level(Level::None),
            "bypassed/none A none -",
        ),
        (
            "none, a pin to an aborted group",
            Ask::p("E", 10).level(Level::None),
            "bypassed/none A none -",
        ),
        (
            "none, a bad pin",
            Ask::fault(Fault::BadSignature).level(Level::None),
            "bypassed/none A none -",
        ),
        (
            "none, preflight",
            Ask::without(Absence::Preflight).level(Level::None),
            "bypassed/none A none -",
        ),
        (
            "none, never waits",
            Ask::unknown(99).level(Level::None),
            "bypassed/none A none -",
        ),
    ]);
}

#[test]
fn connection_draws_each_request_on_a_fresh_key() {
    let connection = |ask: Ask| ask.level(Level::Connection);
    let to_a = Ask {
        fresh: drawn_to_a(),
        ..Ask::new()
    };
    check([
        (
            "fresh key to B",
            connection(Ask::new()),
            "bypassed/connection B none -",
        ),
        (
            "fresh key to A",
            connection(to_a),
            "bypassed/connection A none -",
        ),
        (
            "a pin is not read",
            connection(Ask::p("C", 10)),
            "bypassed/connection B none -",
        ),
        (
            "B down at once: A",
            connection(Ask::new().down(&["B"], 0)),
            "bypassed/connection A none -",
        ),
        (
            "nothing ready",
            connection(Ask::new().down(&["A", "B"], 0)),
            "refused/no_ready none none -",
        ),
    ]);
}

#[test]
fn follow_obeys_a_valid_pin_and_writes_nothing() {
    let follow = |ask: Ask| ask.level(Level::Follow);
    check([
        (
            "no pin: stable",
            follow(Ask::new()),
            "bypassed/follow A none -",
        ),
        (
            "a bad pin: stable",
            follow(Ask::fault(Fault::ExpiredIdle)),
            "bypassed/follow A none -",
        ),
        (
            "active",
            follow(Ask::p("B", 10)),
            "bypassed/follow B none -",
        ),
        (
            "due for renewal",
            follow(Ask::p("B", 10).now(1700)),
            "bypassed/follow B none -",
        ),
        (
            "draining",
            follow(Ask::p("C", 10)),
            "bypassed/follow C none -",
        ),
        (
            "staged",
            follow(Ask::p("D", 10)),
            "bypassed/follow D none -",
        ),
        (
            "aborted: its destination",
            follow(Ask::p("E", 10)),
            "bypassed/follow A none -",
        ),
        (
            "under a running stay",
            follow(Ask::p("F", 10)),
            "bypassed/follow F none -",
        ),
        (
            "stay is over",
            follow(Ask::p("F", 10).now(600)),
            "bypassed/follow A none -",
        ),
        (
            "ended: its destination",
            follow(Ask::p("G", 10)),
            "bypassed/follow A none -",
        ),
        (
            "retired: stable",
            follow(Ask::p("R", 10)),
            "bypassed/follow A none -",
        ),
        (
            "unknown, above: never waits",
            follow(Ask::unknown(11)),
            "bypassed/follow A none -",
        ),
        (
            "behind, known",
            follow(Ask::p("B", 11)),
            "bypassed/follow B none -",
        ),
        (
            "not ready, within grace: stable",
            follow(Ask::p("B", 10).down(&["B"], 0)),
            "bypassed/follow A none -",
        ),
        (
            "stay, not ready: stable",
            follow(Ask::p("F", 10).down(&["F"], 0)),
            "bypassed/follow A none -",
        ),
        (
            "strict never refuses",
            follow(Ask::p("R", 10).strict()),
            "bypassed/follow A none -",
        ),
    ]);
}

#[test]
fn follow_goes_to_the_aborts_target_and_not_to_the_stable_group() {
    // B stays active beside A; C is aborted to B by name
    let request = crate::AbortRequest {
        to: Some(name("B")),
        ..Default::default()
    };
    let town = town();
    let town = town
        .abort(&name("C"), &request, &View::default(), after(&town, at(0)))
        .unwrap();
    let ask = Ask::p("C", 10).rollout(town).level(Level::Follow);
    assert_eq!(ask.answer(), "bypassed/follow B none -");
}

#[test]
fn follow_does_not_serve_an_aborted_stable_group() {
    let promoted = town().promote(&name("B"), after(&town(), at(0))).unwrap();
    let aborted = abort(&promoted, "B", AbortPolicy::Move);
    let ask = Ask::p("B", 10).rollout(aborted).level(Level::Follow);
    assert_eq!(ask.answer(), "bypassed/follow A none -");
}
