//! Unsigned hints: what a request in a scope of level `follow` may ask for by a group's name.

use crate::{GroupId, GroupName, Readiness, Ready, Rollout, State, Status, Timestamp};

/// What has become of a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hinted<'a> {
    /// The group serves.
    Serves(&'a GroupId),
    /// The group serves sessions, but has no ready endpoint here now.
    NotReady,
    /// The group is aborted, retired, unknown, or still staged. Which of them is not told apart: a
    /// hint is not signed, and is not to find out what is being prepared.
    Gone,
}

/// What a hint that names a group leads to.
///
/// It reaches groups that serve sessions of anybody: active and draining ones, and an aborted one
/// whose sessions stay for now.
#[must_use]
pub fn hinted<'a>(
    rollout: &'a Rollout,
    ready: &dyn Readiness,
    name: &GroupName,
    now: Timestamp,
) -> Hinted<'a> {
    let Some(group) = rollout.group(name) else {
        return Hinted::Gone;
    };
    let serves = match rollout.status(group.id()) {
        Status::Serving(group) => !matches!(group.state(), State::Staged),
        Status::Aborted(abort) => abort.stays(now),
        Status::Gone => false,
    };
    match ready.of(name) {
        _ if !serves => Hinted::Gone,
        Ready::Yes => Hinted::Serves(group.id()),
        Ready::No { .. } => Hinted::NotReady,
    }
}
