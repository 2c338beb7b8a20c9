//! How the state of a replica and the one that all share become the same.

use std::cmp::Ordering;

use super::{Fact, Standing};
use crate::{Change, Group, Revision, Rollout, TOMBSTONE_GRACE};

/// What a look at the shared state asks a replica for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// Nothing: both are one state.
    Same,
    /// The shared one is newer: it is taken.
    Theirs,
    /// The replica's was lost there: this is written back.
    Ours(Rollout),
}

/// The shared state as it was read just now meets that of a replica.
///
/// Of two states with one number the replica's becomes a greater one: it was accepted before.
#[must_use]
pub fn meet(ours: &Rollout, theirs: &Rollout) -> Meeting {
    match theirs.revision().cmp(&ours.revision()) {
        Ordering::Greater => Meeting::Theirs,
        Ordering::Equal if theirs == ours => Meeting::Same,
        Ordering::Equal => Meeting::Ours(ours.raised(ours.revision().next())),
        Ordering::Less => Meeting::Ours(ours.clone()),
    }
}

/// The aborts of `known` that `taken` has not: facts again. Where states meet that did not come from
/// each other, as after the shared one was set back, no later one serves an id that was aborted.
///
/// An id that can have been forgotten at `change` counts for nothing: another group may have it.
#[must_use]
pub fn lost_aborts(known: &Rollout, taken: &Rollout, change: Change) -> Vec<Fact> {
    let remembered = |fact: &Fact| {
        let until = fact.at().plus(change.max_age).plus(TOMBSTONE_GRACE);
        change.now < until
    };
    let lost = known.groups().iter().map(Group::id);
    let lost = lost.filter_map(|id| Fact::of(taken, known, id));
    lost.filter(remembered).collect()
}

/// The next thing that `shared` does not know of what only one replica knows, as a change of it:
/// an abort, else what `groups` adds, else that a pin has shown a greater revision, `shown`.
/// `None` if it knows all.
#[must_use]
pub fn contribution(
    shared: &Rollout,
    facts: &[Fact],
    groups: impl FnOnce() -> Option<Rollout>,
    shown: Revision,
    change: Change,
) -> Option<Rollout> {
    facts
        .iter()
        .find(|fact| fact.standing(shared) == Standing::Merges)
        .map(|fact| fact.merged(shared, change))
        .or_else(groups)
        .or_else(|| (shown > shared.revision()).then(|| shared.raised(shown)))
}
