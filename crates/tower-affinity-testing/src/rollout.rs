//! Rollouts in one line.

use std::time::Duration;

use tower_affinity_core::{
    Change, GroupId, GroupName, NewGroup, Revision, Rollout, RolloutError, Timestamp, Weight,
};

/// The moment at which tests begin, in seconds since the epoch.
pub const START: u64 = 1_800_000_000;

/// Four hours: the greatest age of a session by default.
const MAX_AGE: Duration = Duration::from_secs(4 * 60 * 60);

/// A group's name.
///
/// # Panics
///
/// If `text` is none.
#[must_use]
pub fn name(text: &str) -> GroupName {
    parsed(text.parse(), text)
}

/// The id of a group's first generation.
///
/// # Panics
///
/// If the text is no group name.
#[must_use]
pub fn id(text: &str) -> GroupId {
    GroupId::new(name(text), 1)
}

/// A weight.
///
/// # Panics
///
/// If it is greater than 10,000.
#[must_use]
pub fn weight(weight: u64) -> Weight {
    parsed(Weight::new(weight), "weight")
}

/// An active group with that weight.
///
/// # Panics
///
/// If the name or the weight is none.
#[must_use]
pub fn active(group: &str, share: u64) -> NewGroup {
    NewGroup::active(name(group), weight(share))
}

/// Active groups with their weights, the first of them stable, under `revision`.
///
/// # Panics
///
/// If they make no valid rollout.
#[must_use]
pub fn rollout(revision: u64, shares: &[(&str, u64)]) -> Rollout {
    let groups = shares.iter().enumerate().map(|(nth, (group, share))| {
        let group = active(group, *share);
        if nth == 0 { group.stable() } else { group }
    });
    let made: Result<_, RolloutError> =
        Rollout::new(Revision(revision), Timestamp::from_secs(START), groups);
    parsed(made, "rollout")
}

/// The change that follows `rollout`, made at `now`, with sessions of at most four hours.
#[must_use]
pub fn after(rollout: &Rollout, now: Timestamp) -> Change {
    Change {
        revision: rollout.revision().next(),
        now,
        max_age: MAX_AGE,
    }
}

#[allow(clippy::panic)] // a test that is written wrongly ends here, with the reason
fn parsed<T, E: std::fmt::Display>(result: Result<T, E>, what: &str) -> T {
    result.unwrap_or_else(|error| panic!("{what}: {error}"))
}
