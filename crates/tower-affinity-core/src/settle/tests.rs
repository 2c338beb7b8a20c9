//! §2 and §5: when an answer writes a pin, and which.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::cell::Cell;

use super::*;
use crate::decide::{Cohort, Kind};
use crate::fixtures::{TA, View, after, at, endpoint, id, lifetimes, name, rollout, session};
use crate::{EndpointCode, EndpointRef, LastMove, MoveCause, Outcomes, Revision};

/// A session of B that began at 0 and asks at 100; the snapshot is of revision 10.
#[derive(Clone)]
struct Case {
    decision: Decision,
    rollout: Rollout,
    view: View,
    said: Said,
    served_by: Option<EndpointId>,
    streams: bool,
    aborted: bool,
}

fn pin(group: &str) -> SessionPin {
    SessionPin::new(session(1), id(group, 1), Revision(9), at(0), lifetimes())
}

fn case(kind: Kind, cause: Cause, issue: bool) -> Case {
    let pin = pin("B");
    Case {
        decision: Decision {
            kind,
            cause,
            group: Some(id("B", 1)),
            pin: Some(pin),
            issue,
            cohort: Cohort::Current,
            endpoint_key: None,
        },
        rollout: rollout(&[("A", 90), ("B", 10)]),
        view: View::default(),
        said: Said::default(),
        served_by: None,
        streams: false,
        aborted: false,
    }
}

fn pinned() -> Case {
    case(Kind::Pinned, Cause::Ok, false)
}

impl Case {
    fn moved(mut self) -> Self {
        self.decision.pin.as_mut().unwrap().last_move = Some(LastMove {
            from: GroupRef::Known(id("A", 1)),
            at: at(0),
            cause: MoveCause::Gone.into(),
        });
        self
    }

    fn draining(self) -> Self {
        let change = after(&self.rollout, at(0));
        Self {
            rollout: self.rollout.drain(&name("B"), change).unwrap(),
            ..self
        }
    }

    fn settled(&self) -> Settled {
        let asked = Cell::new(false);
        let answer = Answer {
            decision: &self.decision,
            rollout: &self.rollout,
            ready: &self.view,
            at: at(100),
            lifetimes: lifetimes(),
            said: self.said,
            served_by: self.served_by.as_ref(),
            streams: self.streams,
        };
        let settled = settle(&answer, |_| {
            asked.set(true);
            self.aborted
        });
        if matches!(settled, Settled::Written(_)) {
            let first = self.decision.kind == Kind::Assigned;
            assert_ne!(asked.get(), first, "the newest snapshot is asked");
        }
        settled
    }

    fn written(&self) -> SessionPin {
        match self.settled() {
            Settled::Written(pin) => *pin,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_good_pin_is_kept_and_an_issued_one_is_written_as_it_was_decided() {
    assert_eq!(pinned().settled(), Settled::Kept);
    let issued = case(Kind::Pinned, Cause::Ok, true);
    assert_eq!(issued.written(), pin("B"));
    let mut without = pinned();
    without.decision.pin = None;
    without.said.end = true;
    assert_eq!(without.settled(), Settled::Kept, "there is no session");
}

#[test]
fn an_end_clears_the_pin_whatever_else_is_said() {
    let all = Said {
        end: true,
        release: true,
        moved_seen: true,
        outcomes: Outcomes::FAILED,
    };
    for kind in [Kind::Assigned, Kind::Pinned, Kind::Moved] {
        let case = Case {
            said: all,
            streams: true,
            ..case(kind, Cause::Ok, true).draining()
        };
        assert_eq!(case.settled(), Settled::Cleared, "{kind:?}");
    }
}

#[test]
fn no_pin_is_written_to_a_group_aborted_meanwhile_but_a_first_one() {
    for (kind, cause, written) in [
        (Kind::Assigned, Cause::New, true),
        (Kind::Pinned, Cause::Ok, false),
        (Kind::Moved, Cause::Gone, false),
        (Kind::Overridden, Cause::Sticky, false),
    ] {
        let case = Case {
            aborted: true,
            ..case(kind, cause, true)
        };
        let is_written = matches!(case.settled(), Settled::Written(_));
        assert_eq!(is_written, written, "{kind:?}");
    }
}

#[test]
fn a_stream_gives_the_pin_all_the_time_of_its_session_once() {
    let mut case = Case {
        streams: true,
        ..pinned()
    };
    let extended = case.written();
    let expected = SessionPin {
        issued: at(100),
        expires: at(0).plus(TA),
        revision: Revision(10),
        ..pin("B")
    };
    assert_eq!(extended, expected);
    case.decision.pin = Some(extended);
    assert_eq!(case.settled(), Settled::Kept, "it has it already");
    let mut first = case;
    first.decision = self::case(Kind::Assigned, Cause::New, true).decision;
    let expected = SessionPin {
        expires: at(0).plus(TA),
        ..pin("B")
    };
    assert_eq!(first.written(), expected, "an issue keeps its own times");
}

#[test]
fn a_release_is_written_only_while_the_group_drains_and_the_stable_one_is_ready() {
    let release = |case: Case| Case {
        said: Said {
            release: true,
            ..Said::default()
        },
        ..case
    };
    let draining = release(pinned().draining());
    assert!(draining.written().released);
    assert_eq!(draining.written().revision, Revision(11), "renewed as well");
    assert_eq!(release(pinned()).settled(), Settled::Kept, "B is active");
    let mut unready = draining;
    unready.view = View::down(&["A"], at(0));
    assert_eq!(unready.settled(), Settled::Kept, "A is not ready");
    let renewed = release(case(Kind::Pinned, Cause::Ok, true));
    assert!(!renewed.written().released);
}

#[test]
fn a_move_that_was_seen_is_forgotten() {
    let seen = |case: Case| Case {
        said: Said {
            moved_seen: true,
            ..Said::default()
        },
        ..case
    };
    assert_eq!(seen(pinned().moved()).written().last_move, None);
    assert_eq!(
        seen(pinned()).settled(),
        Settled::Kept,
        "it was never moved"
    );
}

#[test]
fn a_stream_of_an_aborted_group_whose_sessions_stay_keeps_the_revision_of_its_pin() {
    let case = Case {
        streams: true,
        ..case(Kind::Pinned, Cause::AbortedStay, false)
    };
    let written = case.written();
    assert_eq!((written.revision, written.issued), (Revision(9), at(100)));
}

#[test]
fn a_pin_above_our_revision_is_changed_in_its_times_only() {
    let all = Said {
        release: true,
        moved_seen: true,
        ..Said::default()
    };
    let behind = Case {
        said: all,
        ..case(Kind::Pinned, Cause::Behind, false).moved().draining()
    };
    assert_eq!(behind.settled(), Settled::Kept);
    let renewed = Case {
        said: all,
        ..case(Kind::Pinned, Cause::Behind, true).moved().draining()
    };
    assert_eq!(Some(renewed.written()), renewed.decision.pin);
}

#[test]
fn what_became_of_a_session_is_written_once() {
    let failed = |case: Case| Case {
        said: Said {
            outcomes: Outcomes::FAILED,
            ..Said::default()
        },
        ..case
    };
    let written = failed(pinned()).written();
    let expected = SessionPin {
        outcomes: Outcomes::FAILED,
        ..pin("B").renewed(Revision(10), at(100), lifetimes())
    };
    assert_eq!(written, expected);
    let mut known = failed(pinned());
    known.decision.pin = Some(written);
    assert_eq!(known.settled(), Settled::Kept, "its pin says so already");
    known.said.outcomes = Outcomes::FAILED.and(Outcomes::SLOW);
    let both = known.written().outcomes;
    assert_eq!(
        both,
        Outcomes::FAILED.and(Outcomes::SLOW),
        "and more is news"
    );
    let first = failed(case(Kind::Assigned, Cause::New, true)).written();
    assert_eq!(
        first,
        SessionPin {
            outcomes: Outcomes::FAILED,
            ..pin("B")
        },
        "an issue keeps its own times"
    );
    let withdrawn = Case {
        aborted: true,
        ..failed(pinned())
    };
    assert_eq!(withdrawn.settled(), Settled::Kept, "no pin leads back");
}

#[test]
fn a_pin_above_our_revision_learns_what_became_of_its_session() {
    let mut behind = case(Kind::Pinned, Cause::Behind, false).moved().draining();
    behind.decision.pin.as_mut().unwrap().revision = Revision(99);
    behind.said = Said {
        release: true,
        moved_seen: true,
        outcomes: Outcomes::SLOW,
        ..Said::default()
    };
    let shown = behind.decision.pin.clone().unwrap();
    let expected = shown.renewed(Revision(11), at(100), lifetimes());
    assert_eq!(behind.written(), expected.turned_out(Outcomes::SLOW));
}

fn at_level_endpoint(kind: Kind, cause: Cause, issue: bool) -> Case {
    let mut case = case(kind, cause, issue);
    case.decision.endpoint_key = Some(session(1).into());
    case.served_by = Some(endpoint("two"));
    case
}

#[test]
fn a_pin_without_an_endpoint_takes_the_one_that_answered() {
    let two = SessionPin {
        endpoint: Some(EndpointRef::Known(endpoint("two"))),
        ..pin("B")
    };
    for (kind, cause) in [
        (Kind::Assigned, Cause::New),
        (Kind::Moved, Cause::Gone),
        (Kind::Pinned, Cause::EndpointLost),
        (Kind::Overridden, Cause::Sticky),
    ] {
        let written = at_level_endpoint(kind, cause, true).written();
        assert_eq!(written, two, "{kind:?}");
    }
    let began_elsewhere = at_level_endpoint(Kind::Pinned, Cause::Ok, false).written();
    assert_eq!(began_elsewhere.endpoint, two.endpoint);
    assert_eq!(began_elsewhere.issued, at(100), "renewed as well");
}

/// A decision for a session of endpoint `one`, answered by `two`.
fn left(kind: Kind, cause: Cause, issue: bool) -> Case {
    let mut case = at_level_endpoint(kind, cause, issue);
    case.decision.pin = Some(pin("B").at_endpoint(Some(endpoint("one"))));
    case
}

#[test]
fn a_pins_own_endpoint_is_kept_while_it_answers() {
    let mut case = left(Kind::Pinned, Cause::Ok, false);
    case.served_by = Some(endpoint("one"));
    assert_eq!(case.settled(), Settled::Kept, "its own has answered");
    case.decision.issue = true;
    assert_eq!(Some(case.written()), case.decision.pin);
    case.served_by = None;
    assert_eq!(Some(case.written()), case.decision.pin, "nobody says who");
}

#[test]
fn an_endpoint_that_was_left_on_the_way_is_replaced_in_the_pin() {
    let two = Some(EndpointRef::Known(endpoint("two")));
    for (kind, cause, revision) in [
        (Kind::Pinned, Cause::Ok, Revision(10)),
        (Kind::Pinned, Cause::Draining, Revision(10)),
        (Kind::Pinned, Cause::AbortedStay, Revision(9)),
        (Kind::Overridden, Cause::Sticky, Revision(10)),
    ] {
        let written = left(kind, cause, false).written();
        let expected = SessionPin {
            endpoint: two.clone(),
            issued: at(100),
            expires: at(100).plus(lifetimes().idle()),
            revision,
            ..pin("B")
        };
        assert_eq!(written, expected, "{cause:?}: renewed, and nothing else");
        let issued = left(kind, cause, true).written();
        let expected = pin("B").at_endpoint(Some(endpoint("two")));
        assert_eq!(issued, expected, "{cause:?}: an issue keeps its own times");
    }
}

#[test]
fn a_session_that_left_its_endpoint_keeps_it_in_a_pin_that_may_not_change() {
    let behind = left(Kind::Pinned, Cause::Behind, false);
    assert_eq!(behind.settled(), Settled::Kept, "the pin is above us");
    let renewed = left(Kind::Pinned, Cause::Behind, true);
    assert_eq!(Some(renewed.written()), renewed.decision.pin);
    let mut group = left(Kind::Pinned, Cause::Ok, false);
    group.decision.endpoint_key = None;
    assert_eq!(group.settled(), Settled::Kept, "level group");
    let mut unknown = left(Kind::Pinned, Cause::Ok, false);
    let code = EndpointRef::Unknown(EndpointCode::new([7; 10]));
    unknown.decision.pin = Some(SessionPin {
        endpoint: Some(code),
        ..pin("B")
    });
    assert_eq!(unknown.settled(), Settled::Kept, "nobody can tell");
    let aborted = Case {
        aborted: true,
        ..left(Kind::Pinned, Cause::Ok, false)
    };
    assert_eq!(aborted.settled(), Settled::Kept, "aborted meanwhile");
    let mut ended = left(Kind::Pinned, Cause::Ok, false);
    ended.said.end = true;
    assert_eq!(ended.settled(), Settled::Cleared);
}

#[test]
fn a_decision_that_turned_out_wrong_is_told_as_if_it_had_been_known() {
    for (cause, told) in [
        (Cause::Ok, Cause::EndpointLost),
        (Cause::Draining, Cause::EndpointLost),
        (Cause::AbortedStay, Cause::AbortedStay),
        (Cause::Sticky, Cause::Sticky),
    ] {
        let decision = left(Kind::Pinned, cause, false).decision;
        assert!(decision.has_left_for(&endpoint("two")), "{cause:?}");
        assert!(!decision.has_left_for(&endpoint("one")), "{cause:?}");
        let expected = Decision {
            cause: told,
            pin: Some(pin("B")),
            ..decision.clone()
        };
        assert_eq!(decision.endpoint_lost(), expected);
    }
}

#[test]
fn no_endpoint_is_taken_where_none_is_told_or_wanted() {
    let mut untold = at_level_endpoint(Kind::Pinned, Cause::Ok, false);
    untold.served_by = None;
    assert_eq!(untold.settled(), Settled::Kept, "nobody says who answered");
    let behind = at_level_endpoint(Kind::Pinned, Cause::Behind, false);
    assert_eq!(behind.settled(), Settled::Kept, "the pin is above us");
    let mut group = at_level_endpoint(Kind::Assigned, Cause::New, true);
    group.decision.endpoint_key = None;
    assert_eq!(group.written().endpoint, None, "level group");
    let mut ended = at_level_endpoint(Kind::Assigned, Cause::New, true);
    ended.said.end = true;
    assert_eq!(ended.settled(), Settled::Cleared);
}
