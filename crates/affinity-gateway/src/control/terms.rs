//! [`Terms`]: what a change counts on besides the snapshot.

use std::time::Duration;

use tower_affinity::Groups;
use tower_affinity::core::{AbortPolicy, Bounds, Change, Fleet, Timestamp};

use crate::config::RollbackPolicy;

/// What a verb counts on besides the snapshot.
pub(super) struct Terms<'a> {
    pub(super) change: Change,
    pub(super) groups: &'a Groups,
    pub(super) fleet: &'a Fleet,
    pub(super) bounds: Bounds,
    pub(super) policy: RollbackPolicy,
    pub(super) within: Duration,
}

/// A policy whose deadline is that far from `now`.
pub(crate) fn deadline(policy: RollbackPolicy, within: Duration, now: Timestamp) -> AbortPolicy {
    match policy {
        RollbackPolicy::Move => AbortPolicy::Move,
        RollbackPolicy::Stay => AbortPolicy::Stay {
            until: now.plus(within),
        },
        RollbackPolicy::End => AbortPolicy::End,
    }
}
