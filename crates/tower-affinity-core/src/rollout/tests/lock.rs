//! A locked rollout: what is refused, what gets through, and how it ends.

use super::shape::{drain, promote, register, restore, town, weigh};
use crate::fixtures::{View, after, at, name};
use crate::{AbortRequest, Refusal, Rollout};

fn locked() -> Rollout {
    town().lock(after(&town(), at(1)))
}

#[test]
fn every_change_but_an_abort_is_refused_with_the_way_out() {
    type Verb = fn(&Rollout) -> Result<Rollout, Refusal>;
    let verbs: [(&str, Verb); 10] = [
        ("register", |t| register(t, "X", 0)),
        ("register a retired name", |t| register(t, "R", 5)),
        ("weights", |t| weigh(t, &[("A", 1)])),
        ("promote", |t| promote(t, "B")),
        ("activate", |t| t.activate(&name("D"), after(t, at(2)))),
        ("stabilise", |t| t.stabilise(&name("B"), after(t, at(2)))),
        ("drain", |t| drain(t, "B")),
        ("drain what drains already", |t| drain(t, "C")),
        ("restore", |t| restore(t, "E")),
        ("retire", |t| {
            t.retire(&name("D"), None, true, after(t, at(2)))
        }),
    ];
    for (row, verb) in verbs {
        let refusal = verb(&locked()).expect_err(row);
        assert_eq!(refusal, Refusal::Locked, "{row}");
        assert!(!refusal.can_be_forced(), "{row}");
        assert!(refusal.to_string().contains("unlock it first"), "{refusal}");
    }
}

#[test]
fn an_abort_gets_through_and_leaves_the_lock() {
    let change = after(&locked(), at(2));
    let aborted = locked()
        .abort(
            &name("B"),
            &AbortRequest::default(),
            &View::default(),
            change,
        )
        .unwrap();
    assert_eq!(aborted.group(&name("B")).unwrap().state().name(), "aborted");
    assert!(aborted.is_locked());
}

#[test]
fn lock_and_unlock_are_changes_and_repeated_they_are_none() {
    let (town, locked) = (town(), locked());
    assert!(locked.is_locked() && !town.is_locked());
    assert!(locked.revision() > town.revision());
    assert_eq!(locked.step_revision(), town.step_revision());
    assert_eq!(locked.lock(after(&locked, at(2))), locked);
    let unlocked = locked.unlock(after(&locked, at(2)));
    assert!(!unlocked.is_locked() && unlocked.revision() > locked.revision());
    assert_eq!(unlocked.unlock(after(&unlocked, at(3))), unlocked);
    drain(&unlocked, "B").unwrap();
}
