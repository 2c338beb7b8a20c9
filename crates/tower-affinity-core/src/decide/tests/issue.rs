//! §5: what a re-issued pin holds, and when one is issued.

use std::time::Duration;

use super::ask::{Ask, pin, town};
use crate::fixtures::{TA, TI, after, at, id, lifetimes, name};
use crate::{Cohort, GroupRef, LastMove, Lifetimes, MoveCause, Revision, SessionPin, Shown};

fn renewed(pin: SessionPin, now: i64) -> SessionPin {
    let decision = Ask::with(pin).now(now).decision();
    assert!(decision.issue, "no renewal at {now}");
    decision.pin.unwrap()
}

#[test]
fn c113_a_renewal_comes_once_a_quarter_of_the_idle_lifetime_is_used() {
    let quarter = i64::try_from(TI.as_secs() / 4).unwrap();
    for (now, issue) in [
        (0, false),
        (quarter - 1, false),
        (quarter, true),
        (1799, true),
    ] {
        let decision = Ask::p("B", 10).now(now).decision();
        assert_eq!(decision.issue, issue, "at {now} s");
        assert!(decision.pin.is_some(), "at {now} s the session is known");
    }
}

#[test]
fn a_renewal_keeps_all_but_its_times_and_revision() {
    let old = SessionPin {
        moves: 3,
        placed: true,
        last_move: Some(LastMove {
            from: GroupRef::Known(id("C", 1)),
            at: at(-5),
            cause: MoveCause::Gone.into(),
        }),
        assigned: Revision(4),
        started: at(-100),
        ..pin("B", 9)
    };
    let new = renewed(old.clone(), 450);
    let expected = SessionPin {
        issued: at(450),
        expires: at(450 + 1800),
        revision: Revision(10),
        ..old
    };
    assert_eq!(new, expected);
}

#[test]
fn a_move_outranks_what_a_slower_clock_renews_while_the_stay_lasts_for_it() {
    let old = pin("F", 9);
    // F's sessions stay until 600; one clock shows that time already, the other is behind
    let slow = renewed(old.clone(), 599);
    assert_eq!(slow.revision, Revision(9), "the renewal keeps its revision");
    assert_eq!((slow.issued, slow.expires), (at(599), at(599 + 1800)));
    let mut ahead = Ask::with(slow.clone()).now(600);
    for shown in [old, slow.clone()] {
        ahead.shown = Shown::Pin(Box::new(shown));
        let moved = ahead.decision();
        assert_eq!(moved.cause.as_str(), "aborted");
        assert!(moved.pin.unwrap().precedence() > slow.precedence());
    }
}

#[test]
fn c057_renewals_never_pass_the_whole_lifetime() {
    let mut held = pin("B", 10);
    let end = at(i64::try_from(TA.as_secs()).unwrap());
    let mut now = 0;
    while at(now) < held.expires {
        let decision = Ask::with(held).now(now).decision();
        held = decision.pin.unwrap();
        assert_eq!(held.started, at(0), "the session's start never moves");
        now += 600;
    }
    assert_eq!(held.expires, end);
    assert_eq!(
        at(now),
        end,
        "a session in use every ten minutes lives its whole life"
    );
}

#[test]
fn a_pin_that_already_has_all_its_time_is_not_renewed() {
    let last = SessionPin {
        started: at(-14_000),
        issued: at(-1000),
        expires: at(400),
        ..pin("B", 10)
    };
    assert_eq!(Ask::with(last).answer(), "pinned/ok B current keep");
}

#[test]
fn a_renewal_never_lowers_the_expiry() {
    // the configuration has shortened the idle lifetime since the pin was issued
    let mut ask = Ask::p("B", 10).now(300);
    let short = Lifetimes::new(Duration::from_secs(60), TA).unwrap();
    ask.policy.as_mut().unwrap().lifetimes = short;
    let issued = ask.decision().pin.unwrap();
    assert_eq!((issued.issued, issued.expires), (at(300), at(1800)));
}

#[test]
fn an_issue_from_a_clock_ahead_counts_as_age_zero_and_stays() {
    let ahead = SessionPin {
        issued: at(250),
        expires: at(250 + 1800),
        started: at(250),
        ..pin("B", 10)
    };
    assert!(
        !Ask::with(ahead.clone()).now(0).decision().issue,
        "its age is zero"
    );
    let moved = SessionPin {
        group: GroupRef::Known(id("E", 1)),
        ..ahead
    };
    let issued = Ask::with(moved).now(0).decision().pin.unwrap();
    assert_eq!(issued.issued, at(250), "iat is max(now, presented)");
}

#[test]
fn a_move_counts_itself_and_remembers_from_when_and_why() {
    let old = SessionPin {
        assigned: Revision(4),
        moves: 1,
        ..pin("E", 9)
    };
    let decision = Ask::with(old.clone()).now(100).decision();
    let new = decision.pin.clone().unwrap();
    let last = LastMove {
        from: GroupRef::Known(id("E", 1)),
        at: at(100),
        cause: MoveCause::Aborted.into(),
    };
    assert_eq!(decision.moved_from(), Some(&last));
    let expected = SessionPin {
        group: GroupRef::Known(id("A", 1)),
        issued: at(100),
        expires: at(100 + 1800),
        revision: Revision(10),
        moves: 2,
        last_move: Some(last),
        placed: true,
        ..old
    };
    assert_eq!(new, expected, "sid, sst and arv are kept");
}

#[test]
fn every_kind_of_move_is_issued_at_once() {
    for (ask, cause) in [
        (Ask::p("E", 9), MoveCause::Aborted),
        (Ask::p("R", 9), MoveCause::Gone),
        (Ask::unknown(9), MoveCause::Gone),
        (Ask::p("B", 9).down(&["B"], 10), MoveCause::GroupDown),
    ] {
        let decision = ask.decision();
        assert!(decision.issue, "{cause:?}");
        assert_eq!(decision.moved_from().unwrap().cause, cause);
    }
}

#[test]
fn the_move_is_told_until_the_application_has_seen_it() {
    let moved = Ask::p("E", 9).decision().pin.unwrap();
    let later = Ask::with(moved.clone()).now(60).decision();
    assert_eq!(later.kind.as_str(), "pinned");
    assert!(
        later.moved_from().is_some(),
        "a later request still carries the move"
    );
    let seen = Ask::with(moved.move_seen()).now(60).decision();
    assert_eq!(seen.moved_from(), None);
    assert_eq!(seen.cohort, Cohort::Moved, "the session stays a moved one");
}

#[test]
fn a_refusal_leaves_the_pin_as_it_was() {
    for ask in [
        Ask::p("G", 9),
        Ask::p("R", 9).strict(),
        Ask::unknown(9).strict(),
    ] {
        let decision = ask.now(1000).decision();
        assert_eq!((decision.kind.as_str(), decision.issue), ("refused", false));
        assert_eq!(decision.pin.unwrap().issued, at(0));
    }
}

#[test]
fn a_streaming_pin_gets_the_whole_lifetime_and_is_then_not_due() {
    let streaming = pin("B", 10).streaming(lifetimes());
    assert_eq!(streaming.expires, at(14_400));
    assert!(!streaming.is_due(at(10_000), lifetimes()));
}

#[test]
fn of_several_pins_revision_moves_and_issue_decide_in_that_order() {
    let base = pin("B", 10);
    let newer = SessionPin {
        revision: Revision(11),
        ..base.clone()
    };
    let moved = SessionPin {
        moves: 1,
        ..base.clone()
    };
    let later = SessionPin {
        issued: at(5),
        ..base.clone()
    };
    let order = [&base, &later, &moved, &newer];
    for (n, lesser) in order.iter().enumerate() {
        for greater in order.iter().skip(n + 1) {
            assert!(
                lesser.precedence() < greater.precedence(),
                "{lesser:?} < {greater:?}"
            );
        }
    }
}

#[test]
fn the_cohort_compares_the_assignment_with_the_last_step() {
    let with = |placed, moves, assigned| SessionPin {
        placed,
        moves,
        assigned: Revision(assigned),
        ..pin("B", 10)
    };
    for (pin, cohort) in [
        (with(false, 0, 10), Cohort::Current),
        (with(false, 0, 11), Cohort::Current),
        (with(false, 0, 9), Cohort::Established),
        (with(true, 0, 10), Cohort::None),
        (with(true, 1, 10), Cohort::Moved),
        (with(true, 7, 3), Cohort::Moved),
    ] {
        assert_eq!(Ask::with(pin.clone()).decision().cohort, cohort, "{pin:?}");
    }
}

#[test]
fn c124_registering_and_retiring_make_nobody_established_but_a_weight_does() {
    let town = town();
    let registered = town
        .register(&name("X"), crate::Weight::ZERO, after(&town, at(0)))
        .unwrap();
    let retired = registered
        .retire(&name("D"), None, false, after(&registered, at(0)))
        .unwrap();
    let ask = Ask::p("B", 10).rollout(retired.clone());
    assert_eq!(ask.decision().cohort, Cohort::Current);
    let shares = crate::fixtures::weights(&[("X", 1)]);
    let stepped = retired.weights(&shares, after(&retired, at(0))).unwrap();
    assert_eq!(
        Ask::p("B", 10).rollout(stepped).decision().cohort,
        Cohort::Established
    );
}
