//! Wrong ways to bring what a replica knows and the shared state together.

use std::cmp::Ordering;

use tower_affinity_core::{Change, Fact, Meeting, Revision, Rollout, Standing};
use tower_affinity_testing::sim::{Parts, Real};

use super::Planted;

/// The shared state is obeyed as it is wherever it says anything of the group.
struct YieldsAtOnce;

impl Parts for YieldsAtOnce {
    fn obeyed(&self, shared: &Rollout, facts: &[Fact]) -> Rollout {
        let held = facts.iter().filter(|fact| !fact.disputed).cloned();
        Real.obeyed(shared, &held.collect::<Vec<_>>())
    }
}

/// An abort is brought into a state in which the group was changed since.
struct OverridesChanges;

impl Parts for OverridesChanges {
    fn standing(&self, fact: &Fact, shared: &Rollout) -> Standing {
        match Real.standing(fact, shared) {
            Standing::Conflicts => Standing::Merges,
            standing => standing,
        }
    }
}

/// Aborts stay with the replica that took them.
struct KeepsAborts;

impl Parts for KeepsAborts {
    fn contribution(
        &self,
        shared: &Rollout,
        _: &[Fact],
        shown: Revision,
        change: Change,
    ) -> Option<Rollout> {
        Real.contribution(shared, &[], shown, change)
    }
}

/// The engine is always right.
struct TakesBackups;

impl Parts for TakesBackups {
    fn meet(&self, ours: &Rollout, theirs: &Rollout) -> Meeting {
        match theirs.revision().cmp(&ours.revision()) {
            Ordering::Less => Meeting::Theirs,
            _ => Real.meet(ours, theirs),
        }
    }
}

/// Two states are one if they have one number.
struct LooksAtNumbers;

impl Parts for LooksAtNumbers {
    fn meet(&self, ours: &Rollout, theirs: &Rollout) -> Meeting {
        match theirs.revision().cmp(&ours.revision()) {
            Ordering::Equal => Meeting::Same,
            _ => Real.meet(ours, theirs),
        }
    }
}

pub(super) fn all() -> Vec<Planted> {
    vec![
        (
            "a disputed abort is not obeyed",
            Box::new(YieldsAtOnce),
            &["I2 abort"],
        ),
        (
            "an abort merges over a later change of its group",
            Box::new(OverridesChanges),
            &["I2 abort"],
        ),
        (
            "an abort stays with the replica that took it",
            Box::new(KeepsAborts),
            &["I2 abort"],
        ),
        (
            "a restored backup is taken",
            Box::new(TakesBackups),
            &["I4 revisions"],
        ),
        (
            "two states of one number pass for one",
            Box::new(LooksAtNumbers),
            &["I4 revisions"],
        ),
    ]
}
