//! Level `endpoint`: a session stays on its endpoint while that lives.

use super::ask::{Ask, check, pin};
use crate::fixtures::{at, endpoint, id, salt};
use crate::{Absence, EndpointCode, EndpointRef, Fault, Level, MoveCause, Revision, SessionPin};

/// P(group, revision) with an endpoint.
fn placed(group: &str, revision: u64, at: &str) -> SessionPin {
    pin(group, revision).at_endpoint(Some(endpoint(at)))
}

fn ask(pin: SessionPin) -> Ask {
    Ask::with(pin).level(Level::Endpoint)
}

/// Asks with an endpoint of that name gone.
fn lost(ask: Ask, name: &str) -> Ask {
    let view = ask.view.clone().lost(name);
    Ask { view, ..ask }
}

#[test]
fn a_pin_without_an_endpoint_is_obeyed_as_at_level_group() {
    let none = |absence| Ask::without(absence).level(Level::Endpoint);
    let p = |group, revision| ask(pin(group, revision));
    check([
        ("new", none(Absence::New), "assigned/new B current issue"),
        (
            "a bad pin",
            none(Absence::Fault(Fault::ExpiredIdle)),
            "assigned/expired_idle B current issue",
        ),
        (
            "preflight",
            none(Absence::Preflight),
            "assigned/preflight A none -",
        ),
        (
            "withheld",
            none(Absence::Withheld),
            "assigned/withheld B none -",
        ),
        ("active", p("B", 10), "pinned/ok B current keep"),
        ("draining", p("C", 9), "pinned/draining C established keep"),
        ("aborted", p("E", 9), "moved/aborted A moved issue"),
        ("stays", p("F", 9), "pinned/aborted_stay F established keep"),
        ("ended", p("G", 9), "refused/aborted_end G established keep"),
        ("retired", p("R", 9), "moved/gone B moved issue"),
        ("behind", p("B", 11), "pinned/behind B current keep"),
        (
            "unknown, above",
            Ask::unknown(11).level(Level::Endpoint),
            "ask for 11",
        ),
        (
            "group down",
            p("B", 9).down(&["B"], 60),
            "moved/group_down A moved issue",
        ),
    ]);
}

#[test]
fn an_endpoint_that_is_gone_is_the_first_cause_and_the_session_stays_in_its_group() {
    check([
        (
            "it lives",
            ask(placed("B", 10, "one")),
            "pinned/ok B current keep",
        ),
        (
            "another is gone",
            lost(ask(placed("B", 10, "one")), "two"),
            "pinned/ok B current keep",
        ),
        (
            "gone",
            lost(ask(placed("B", 10, "one")), "one"),
            "pinned/endpoint_lost B current issue",
        ),
        (
            "gone, strict",
            lost(ask(placed("B", 10, "one")).strict(), "one"),
            "pinned/endpoint_lost B current issue",
        ),
        (
            "gone, draining",
            lost(ask(placed("C", 9, "one")), "one"),
            "pinned/endpoint_lost C established issue",
        ),
        (
            "its code is not known here",
            ask(SessionPin {
                endpoint: Some(EndpointRef::Unknown(EndpointCode::new([7; 10]))),
                ..pin("B", 10)
            }),
            "pinned/endpoint_lost B current issue",
        ),
        (
            "another level does not ask",
            lost(Ask::with(placed("B", 10, "one")), "one"),
            "pinned/ok B current keep",
        ),
        (
            "an abort comes first",
            lost(ask(placed("E", 9, "one")), "one"),
            "moved/aborted A moved issue",
        ),
        (
            "so does a lost group",
            lost(ask(placed("B", 9, "one")).down(&["B"], 60), "one"),
            "moved/group_down A moved issue",
        ),
        (
            "stays: as before, at another endpoint",
            lost(ask(placed("F", 9, "one")), "one"),
            "pinned/aborted_stay F established issue",
        ),
        (
            "of a pin above us nothing is changed",
            lost(ask(placed("B", 11, "one")), "one"),
            "pinned/behind B current keep",
        ),
    ]);
}

#[test]
fn a_lost_endpoint_is_dropped_from_the_pin_and_nothing_else_is() {
    let old = placed("B", 9, "one");
    let decision = lost(ask(old.clone()).now(20), "one").decision();
    let expected = SessionPin {
        endpoint: None,
        issued: at(20),
        expires: at(20 + 1800),
        revision: Revision(10),
        ..old
    };
    assert_eq!(decision.pin.as_ref(), Some(&expected));
    assert_eq!(decision.endpoint(), None, "the leaf chooses");
    assert!(decision.takes_endpoint());
}

#[test]
fn a_renewal_keeps_the_endpoint_and_a_move_drops_it() {
    let kept = ask(placed("B", 10, "one")).now(450).decision();
    assert!(kept.issue && !kept.takes_endpoint());
    assert_eq!(kept.endpoint(), Some(&endpoint("one")));
    let other_level = Ask::with(placed("B", 10, "one")).now(450).decision();
    assert_eq!(other_level.endpoint(), None, "no request of it is bound");
    let renewed = other_level.pin.unwrap();
    assert_eq!(renewed.endpoint, Some(EndpointRef::Known(endpoint("one"))));
    for group in ["E", "R"] {
        let moved = ask(placed(group, 9, "one")).decision();
        assert_eq!(moved.pin.as_ref().unwrap().endpoint, None, "{group}");
        assert!(moved.takes_endpoint(), "{group}");
    }
}

#[test]
fn a_step_that_draws_the_same_group_keeps_the_endpoint() {
    // the session is drawn to B, and the town's weights are of revision 8
    let drawn = |group| {
        let old = ask(placed(group, 7, "one")).reassign();
        old.decision().pin.unwrap()
    };
    let stays = drawn("B");
    assert_eq!(stays.endpoint, Some(EndpointRef::Known(endpoint("one"))));
    assert_eq!(stays.assigned, Revision(8), "it was drawn anew");
    let leaves = drawn("A");
    assert_eq!(leaves.group.known(), Some(&id("B", 1)));
    assert!(leaves.last_move.unwrap().cause == MoveCause::Step);
    assert_eq!(leaves.endpoint, None);
}

#[test]
fn a_step_that_draws_the_same_group_finds_a_lost_endpoint_as_any_decision_does() {
    let old = placed("B", 7, "one");
    let reassigned = |ask: Ask| ask.reassign().now(20);
    let gone = lost(reassigned(ask(old.clone())), "one");
    assert_eq!(gone.answer(), "pinned/endpoint_lost B established issue");
    let decision = gone.decision();
    let expected = SessionPin {
        endpoint: None,
        issued: at(20),
        expires: at(20 + 1800),
        revision: Revision(10),
        assigned: Revision(8),
        ..old.clone()
    };
    assert_eq!(decision.pin.as_ref(), Some(&expected), "drawn anew as well");
    assert!(decision.takes_endpoint());
    check([
        (
            "it lives",
            reassigned(ask(old.clone())),
            "pinned/ok B established issue",
        ),
        (
            "another level does not ask",
            lost(reassigned(Ask::with(old)), "one"),
            "pinned/ok B established issue",
        ),
        (
            "drawn to another group",
            lost(reassigned(ask(placed("A", 7, "one"))), "one"),
            "moved/step B established issue",
        ),
        (
            "let go as well",
            lost(reassigned(ask(placed("B", 7, "one").released())), "one"),
            "pinned/endpoint_lost B established issue",
        ),
    ]);
}

#[test]
fn only_a_session_of_this_level_has_an_endpoint_to_take() {
    let takes = |ask: Ask| ask.decision().takes_endpoint();
    let new = Ask::new().level(Level::Endpoint);
    assert!(takes(new.clone()));
    assert!(takes(ask(pin("B", 10))), "it began at another level");
    assert!(takes(new.clone().chosen("B", true)), "a tester's session");
    for (row, ask) in [
        ("level group", Ask::new()),
        ("level connection", Ask::new().level(Level::Connection)),
        ("level follow", Ask::p("B", 10).level(Level::Follow)),
        (
            "preflight",
            Ask::without(Absence::Preflight).level(Level::Endpoint),
        ),
        (
            "withheld",
            Ask::without(Absence::Withheld).level(Level::Endpoint),
        ),
        ("a tester's request", new.chosen("B", false)),
        ("behind", ask(pin("B", 11))),
        ("it has one", ask(placed("B", 10, "one"))),
    ] {
        assert!(!takes(ask), "{row}");
    }
}

#[test]
fn a_testers_session_that_lost_its_endpoint_takes_another() {
    let sticky = lost(ask(placed("B", 10, "one")).chosen("B", true), "one");
    assert_eq!(sticky.answer(), "overridden/sticky B none issue");
    assert!(sticky.decision().takes_endpoint());
}

#[test]
fn an_endpoint_is_chosen_by_the_key_of_the_scope_or_else_by_the_session() {
    let new = Ask::new().level(Level::Endpoint);
    let key = salt().key(b"alice");
    let chosen_by = |ask: Ask| ask.decision().endpoint_key;
    assert_eq!(chosen_by(new.clone()), Some(new.fresh.into()));
    assert_eq!(chosen_by(new.key(key)), Some(key));
    let pin = placed("B", 10, "one");
    assert_eq!(chosen_by(ask(pin.clone())), Some(pin.session.into()));
    assert_eq!(chosen_by(ask(pin.clone()).key(key)), Some(key));
    assert_eq!(chosen_by(Ask::with(pin)), None, "level group");
}
