//! Which arms a request's session is given.

use super::{experiment, set};
use crate::fixtures::statistics::fresh;
use crate::fixtures::{at, id, lifetimes, session};
use crate::{
    Cause, Cohort, Decision, DrawKey, ExperimentSet, Given, Joining, Kind, MoveCause, Revision,
    SessionPin,
};

const REVISION: Revision = Revision(10);

fn decision(kind: Kind, cause: Cause, pin: Option<SessionPin>) -> Decision {
    Decision {
        kind,
        cause,
        group: Some(id("a", 1)),
        pin,
        issue: kind == Kind::Assigned,
        cohort: Cohort::Current,
        endpoint_key: None,
    }
}

fn pin() -> SessionPin {
    SessionPin::new(session(7), id("a", 1), REVISION, at(0), lifetimes())
}

fn pinned(pin: SessionPin) -> Decision {
    decision(Kind::Pinned, Cause::Ok, Some(pin))
}

/// The session's request some seconds later, and the decision after it was given its arms.
fn join(set: &ExperimentSet, decision: Decision, keys: &[Option<DrawKey>]) -> (Decision, Given) {
    let mut decision = decision;
    let joining = Joining {
        keys,
        revision: REVISION,
        now: at(5),
        lifetimes: lifetimes(),
    };
    let given = set.join(&mut decision, &joining);
    (decision, given)
}

fn news(given: &Given) -> Vec<String> {
    let news = given.news();
    news.map(|(experiment, arm)| format!("{}={}", experiment.name(), arm.name()))
        .collect()
}

fn named(given: &Given, experiment: &str) -> Option<String> {
    given.of(experiment).map(|arm| arm.name().to_string())
}

fn halves(name: &str) -> crate::Experiment {
    experiment(name, &[("a", 50), ("b", 50)])
}

#[test]
fn a_session_is_given_its_arm_once() {
    let set = set([halves("exp1"), halves("exp2")]);
    let (first, given) = join(&set, decision(Kind::Assigned, Cause::New, Some(pin())), &[]);
    assert_eq!(news(&given).len(), 2);
    assert!(first.issue);
    let (second, again) = join(&set, pinned(first.pin.clone().unwrap()), &[]);
    assert_eq!(news(&again), Vec::<String>::new(), "it was met before");
    assert_eq!(named(&again, "exp1"), named(&given, "exp1"));
    assert!(!second.issue, "nothing has changed, so no pin is issued");
    assert_eq!(second.pin, first.pin);
}

#[test]
fn an_experiment_that_begins_meets_the_sessions_that_are_there() {
    let one = set([halves("exp1")]);
    let (before, given) = join(&one, pinned(pin()), &[]);
    let both = set([halves("exp2"), halves("exp1")]);
    let (after, later) = join(&both, pinned(before.pin.unwrap()), &[]);
    assert!(after.issue, "the pin has to carry it");
    assert_eq!(after.pin.unwrap().issued, at(5), "a re-issue is one in all");
    assert_eq!(named(&later, "exp1"), named(&given, "exp1"));
    assert!(
        news(&later).iter().all(|new| new.starts_with("exp2=")),
        "{:?}",
        news(&later)
    );
    assert_eq!(news(&later).len(), 1);
}

#[test]
fn changed_weights_move_no_session_between_arms() {
    let before = set([experiment("exp", &[("a", 50), ("b", 50)])]);
    let after = set([experiment("exp", &[("a", 1), ("b", 9_999), ("c", 9_999)])]);
    for n in 0..200 {
        let pin = SessionPin {
            session: session(fresh(n).bits()),
            ..pin()
        };
        let (held, given) = join(&before, pinned(pin), &[]);
        let (_, later) = join(&after, pinned(held.pin.unwrap()), &[]);
        assert_eq!(named(&later, "exp"), named(&given, "exp"), "session {n}");
    }
}

#[test]
fn a_moved_session_keeps_its_arm() {
    let set = set([halves("exp")]);
    let (held, given) = join(&set, pinned(pin()), &[]);
    let moved = held.pin.unwrap().moved(
        id("b", 1),
        MoveCause::Aborted,
        Revision(11),
        at(9),
        lifetimes(),
    );
    let decision = Decision {
        issue: true,
        ..decision(Kind::Moved, Cause::Aborted, Some(moved))
    };
    let (_, later) = join(&set, decision, &[]);
    assert_eq!(named(&later, "exp"), named(&given, "exp"));
    assert!(news(&later).is_empty());
}

#[test]
fn a_session_whose_arm_is_gone_is_given_another() {
    let before = set([experiment("exp", &[("a", 1)])]);
    let after = set([experiment("exp", &[("b", 1)])]);
    let (held, _) = join(&before, pinned(pin()), &[]);
    let (held, later) = join(&after, pinned(held.pin.unwrap()), &[]);
    assert_eq!(news(&later), ["exp=b"]);
    let (_, back) = join(&before, pinned(held.pin.unwrap()), &[]);
    assert_eq!(news(&back), ["exp=a"], "one entry for one experiment");
}

#[test]
fn entries_of_other_releases_are_kept() {
    let newer = set([halves("of-the-next-release")]);
    let ours = set([halves("exp")]);
    let (held, given) = join(&newer, pinned(pin()), &[]);
    let (held, _) = join(&ours, pinned(held.pin.unwrap()), &[]);
    let (_, back) = join(&newer, pinned(held.pin.unwrap()), &[]);
    let name = "of-the-next-release";
    assert_eq!(named(&back, name), named(&given, name));
    assert!(news(&back).is_empty(), "it would count twice");
}

#[test]
fn two_sessions_of_one_user_agree() {
    let set = set([halves("exp1"), halves("exp2")]);
    for n in 0..50 {
        let key = fresh(1_000 + n);
        let of = |session_bits: u128, keys: &[Option<DrawKey>]| {
            let pin = SessionPin {
                session: session(session_bits),
                ..pin()
            };
            let (_, given) = join(&set, pinned(pin), keys);
            named(&given, "exp2")
        };
        assert_eq!(
            of(1, &[None, Some(key)]),
            of(2, &[None, Some(key)]),
            "user {n}"
        );
    }
}

#[test]
fn without_a_session_there_is_no_arm() {
    let set = set([halves("exp")]);
    let refused = decision(Kind::Refused, Cause::AbortedEnd, Some(pin()));
    for without in [
        decision(Kind::Bypassed, Cause::Follow, None),
        decision(Kind::Assigned, Cause::Withheld, None),
        decision(Kind::Overridden, Cause::Granted, None),
        refused,
    ] {
        let (after, given) = join(&set, without.clone(), &[]);
        assert_eq!(after, without);
        assert_eq!(named(&given, "exp"), None);
    }
}

#[test]
fn a_pin_above_our_revision_is_given_nothing() {
    let set = set([halves("exp")]);
    let behind = decision(Kind::Pinned, Cause::Behind, Some(pin()));
    let (after, given) = join(&set, behind.clone(), &[]);
    assert_eq!(after, behind);
    assert_eq!(named(&given, "exp"), None);
    // what it carries is known all the same
    let (held, first) = join(&set, pinned(pin()), &[]);
    let behind = decision(Kind::Pinned, Cause::Behind, held.pin);
    assert_eq!(
        named(&join(&set, behind, &[]).1, "exp"),
        named(&first, "exp")
    );
}

#[test]
fn what_a_pin_has_no_room_for_is_drawn_each_time_and_counted_once() {
    let set = set([halves("exp1"), halves("exp2")]);
    let (held, given) = join(&set, pinned(pin()), &[]);
    let mut cut = held.pin.unwrap();
    cut.arms = cut.arms.without_last();
    let (after, later) = join(&set, pinned(cut.clone()), &[]);
    assert_eq!(named(&later, "exp2"), named(&given, "exp2"));
    assert!(
        news(&later).is_empty() && !after.issue,
        "else each answer would set a cookie"
    );
    let moved = Decision {
        issue: true,
        ..pinned(cut)
    };
    let (after, later) = join(&set, moved, &[]);
    assert!(news(&later).is_empty(), "it was counted before");
    assert_eq!(
        after.pin.unwrap().arms.entries().len(),
        2,
        "there may be room now"
    );
}
