//! What a gateway tells, read again.

use crate::fixtures::{at, id, lifetimes, session};
use crate::{Cause, Cohort, Decision, GroupRef, Kind, MoveCause, NotTold, Told};

const SESSION: &str = "AAAAAAAAAAAAAAAAAAAAKg";

fn words(decision: &str) -> Told<'_> {
    Told {
        group: "9f1c2ab",
        decision,
        session: Some(SESSION),
        moved_from: None,
    }
}

#[test]
fn what_is_told_is_in_the_decision_and_nothing_else_is() {
    let decision = Decision::told(Told {
        moved_from: Some("c3d4e5f; at=1800000000; cause=group_down"),
        ..words("moved; cause=group_down")
    })
    .unwrap();
    assert_eq!(
        (decision.kind, decision.cause),
        (Kind::Moved, Cause::GroupDown)
    );
    assert_eq!(decision.group_label(), "9f1c2ab");
    assert_eq!(decision.session(), Some(session(42)));
    let last = decision.moved_from().unwrap();
    assert_eq!(last.from, GroupRef::Known(id("c3d4e5f", 0)));
    assert_eq!(last.at.as_secs(), 1_800_000_000);
    assert_eq!(last.cause, MoveCause::GroupDown);
    assert_eq!(
        decision.group.as_ref().unwrap().generation(),
        0,
        "no group's"
    );
    assert_eq!((decision.issue, decision.cohort), (false, Cohort::None));
    let pin = decision.pin.unwrap();
    assert!(
        pin.check_times(at(0), lifetimes()).is_err(),
        "valid at no time"
    );
}

#[test]
fn without_a_session_only_the_group_and_the_reason_are_known() {
    for (decision, kind, cause) in [
        ("bypassed; cause=none", Kind::Bypassed, Cause::None),
        ("bypassed; cause=follow", Kind::Bypassed, Cause::Follow),
        ("assigned; cause=withheld", Kind::Assigned, Cause::Withheld),
        (
            "overridden; cause=granted",
            Kind::Overridden,
            Cause::Granted,
        ),
    ] {
        let words = Told {
            session: None,
            ..words(decision)
        };
        let told = Decision::told(words).unwrap();
        assert_eq!((told.kind, told.cause), (kind, cause), "{decision}");
        assert_eq!(told.pin, None);
    }
}

#[test]
fn words_of_a_later_release_are_understood_as_far_as_they_can_be() {
    let told = Decision::told(words("pinned; cause=moonlight")).unwrap();
    assert_eq!((told.kind, told.cause), (Kind::Pinned, Cause::None));
    let told = Decision::told(Told {
        moved_from: Some("unknown; at=1800000000; cause=moonlight"),
        ..words("pinned; cause=ok")
    })
    .unwrap();
    let last = told.moved_from().unwrap();
    assert_eq!(last.from.label(), "unknown");
    assert_eq!(last.cause.as_str(), "moonlight");
}

#[test]
fn words_without_their_form_are_no_decision() {
    let refused = |words: Told<'_>| {
        let told = Decision::told(words);
        assert_eq!(told, Err(NotTold::Malformed), "{words:?}");
    };
    for decision in [
        "",
        "pinned",
        "pinned; ok",
        "pinned; cause=",
        "pinned; cause=O K",
        "pinned; cause=ok; cause=ok",
        "pinned; cause=ok, pinned; cause=ok",
        "Pinned; cause=ok",
        "served; cause=ok",
        " pinned; cause=ok",
    ] {
        refused(words(decision));
    }
    for group in ["", "a b", "a, b", "-a;", "9f1c2ab;"] {
        refused(Told {
            group,
            ..words("pinned; cause=ok")
        });
    }
    for session in [
        "",
        "x",
        "AAAAAAAAAAAAAAAAAAAAKg, x",
        "AAAAAAAAAAAAAAAAAAAAKgA",
    ] {
        refused(Told {
            session: Some(session),
            ..words("pinned; cause=ok")
        });
    }
    for moved_from in [
        "",
        "a",
        "a; at=1",
        "a; at=1; cause=",
        "a; at=+1; cause=gone",
        "a; at=-1; cause=gone",
        "a; at=18446744073709551616; cause=gone",
        "a; cause=gone; at=1",
        "a; at=1; cause=Gone",
        "a b; at=1; cause=gone",
    ] {
        refused(Told {
            moved_from: Some(moved_from),
            ..words("pinned; cause=ok")
        });
    }
}

#[test]
fn words_that_no_gateway_would_tell_together_are_no_decision() {
    let moved = Some("c3d4e5f; at=1; cause=gone");
    for (decision, session, moved_from) in [
        ("pinned; cause=ok", None, None),
        ("moved; cause=gone", None, None),
        ("moved; cause=gone", Some(SESSION), None),
        ("bypassed; cause=none", None, moved),
        ("bypassed; cause=connection", Some(SESSION), None),
        ("assigned; cause=withheld", Some(SESSION), None),
        ("assigned; cause=preflight", Some(SESSION), None),
        ("overridden; cause=granted", Some(SESSION), None),
        ("refused; cause=no_ready", None, None),
        ("refused; cause=gone", Some(SESSION), None),
    ] {
        let words = Told {
            group: "9f1c2ab",
            decision,
            session,
            moved_from,
        };
        let told = Decision::told(words);
        assert_eq!(told, Err(NotTold::Contradictory), "{words:?}");
    }
}
