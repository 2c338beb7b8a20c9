//! What holds for every state that any history of changes reaches.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::fixtures::TA;
use crate::fixtures::history::{Reached, any_verb, play, play_four, steps};
use crate::{Abort, GroupId, Rollout, State, Status, TOMBSTONE_GRACE, Timestamp};

/// A valid rollout, judged from outside.
fn check_valid(rollout: &Rollout) {
    let stable: Vec<_> = rollout
        .groups()
        .iter()
        .filter(|group| group.name() == rollout.stable())
        .collect();
    assert_eq!(stable.len(), 1, "one group is stable: {rollout:?}");
    assert_eq!(
        stable.first().unwrap().state(),
        &State::Active,
        "it is active"
    );
    for group in rollout.groups() {
        let active = matches!(group.state(), State::Active);
        assert!(
            active || group.weight().is_zero(),
            "{} has weight",
            group.id()
        );
        let same_name = rollout
            .groups()
            .iter()
            .filter(|other| other.name() == group.name());
        assert_eq!(same_name.count(), 1, "{} is there once", group.name());
    }
    let sum: u32 = rollout
        .groups()
        .iter()
        .map(|group| u32::from(group.weight().get()))
        .sum();
    assert!(sum > 0, "nobody takes a new session: {rollout:?}");
    assert!(rollout.step_revision() <= rollout.revision());
    assert!(rollout.draw_revision() <= rollout.step_revision());
    assert!(rollout.former_stable().len() <= 8);
    assert!(!rollout.former_stable().contains(rollout.stable()));
}

fn remembered(since: Timestamp, now: Timestamp) -> bool {
    now.since(since) < TA + TOMBSTONE_GRACE
}

/// No id serves again once it does not, as long as a pin to it can be valid.
fn check_no_return(states: &[Reached]) {
    let mut dead: BTreeMap<GroupId, Timestamp> = BTreeMap::new();
    let mut seen: Vec<GroupId> = Vec::new();
    for Reached { rollout, now } in states {
        seen.extend(
            rollout
                .ids()
                .filter(|id| !seen.contains(id))
                .cloned()
                .collect::<Vec<_>>(),
        );
        for id in &seen {
            let serves = matches!(rollout.status(id), Status::Serving(_));
            match dead.get(id) {
                Some(since) if remembered(*since, *now) => assert!(!serves, "{id} came back"),
                _ if serves => drop(dead.remove(id)),
                _ => drop(dead.entry(id.clone()).or_insert(*now)),
            }
        }
    }
}

/// An aborted id stays aborted, with its target, while a pin to it can be valid.
fn check_aborts_stay(states: &[Reached]) {
    let mut aborted: BTreeMap<GroupId, (Abort, Timestamp)> = BTreeMap::new();
    for Reached { rollout, now } in states {
        for (id, (abort, until)) in &aborted {
            if !remembered(*until, *now) {
                continue;
            }
            let Status::Aborted(found) = rollout.status(id) else {
                panic!("{id} is not aborted any more: {:?}", rollout.status(id));
            };
            assert_eq!(
                found.target, abort.target,
                "the target of {id} never changes"
            );
        }
        for group in rollout.groups() {
            if let State::Aborted(abort) = group.state() {
                aborted.insert(group.id().clone(), (abort.clone(), *now));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_state_is_valid_and_every_change_has_a_greater_revision(
        steps in steps(any_verb(), 25, 7200)
    ) {
        let states = play(&steps);
        for reached in &states {
            check_valid(&reached.rollout);
        }
        for pair in states.windows(2) {
            let (before, next) = (&pair[0].rollout, &pair[1].rollout);
            if before.revision() == next.revision() {
                prop_assert_eq!(before, next, "a change without a revision");
            } else {
                prop_assert!(before.revision() < next.revision());
            }
            prop_assert!(before.step_revision() <= next.step_revision());
            prop_assert!(before.draw_revision() <= next.draw_revision());
        }
    }

    #[test]
    fn an_id_never_comes_back(steps in steps(any_verb(), 25, 7200)) {
        check_no_return(&play(&steps));
    }

    #[test]
    fn an_aborted_id_stays_aborted_also_when_retired_and_restored(
        steps in steps(any_verb(), 25, 3600)
    ) {
        check_aborts_stay(&play_four(&steps));
    }

    #[test]
    fn sessions_of_an_aborted_group_go_to_an_active_one(steps in steps(any_verb(), 25, 3600)) {
        for Reached { rollout, .. } in play_four(&steps) {
            for id in rollout.ids() {
                if let Status::Aborted(abort) = rollout.status(id) {
                    let to = rollout.destination(abort);
                    let Status::Serving(group) = rollout.status(&to) else {
                        panic!("{id} goes to {to}, which does not serve");
                    };
                    prop_assert_eq!(group.state(), &State::Active);
                }
            }
        }
    }

    #[test]
    fn every_state_round_trips_through_its_document(steps in steps(any_verb(), 25, 7200)) {
        for Reached { rollout, .. } in play(&steps) {
            let text = rollout.to_document().to_string();
            let document = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(Rollout::from_document(&document).unwrap(), rollout);
        }
    }

    #[test]
    fn a_garbled_document_is_refused_or_a_valid_rollout(
        steps in steps(any_verb(), 12, 3600),
        from in any::<prop::sample::Index>(),
        cut in 0..12_usize,
        put in "[\\x00-\\x7f]{0,4}",
    ) {
        let last = play(&steps).pop().unwrap().rollout;
        let mut text = last.to_document().to_string().into_bytes();
        let from = from.index(text.len());
        let to = (from + cut).min(text.len());
        text.splice(from..to, put.into_bytes());
        if let Ok(document) = serde_json::from_slice(&text)
            && let Ok(rollout) = Rollout::from_document(&document)
        {
            for group in rollout.groups() {
                let active = matches!(group.state(), State::Active);
                prop_assert!(active || group.weight().is_zero());
                prop_assert!(group.name() != rollout.stable() || active);
            }
            for id in rollout.ids() {
                if let Status::Aborted(abort) = rollout.status(id) {
                    let to = rollout.destination(abort);
                    prop_assert!(rollout.group(to.name()).is_some());
                }
            }
        }
    }
}
