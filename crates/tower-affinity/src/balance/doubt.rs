//! Whether checks are believed that leave a group without a healthy endpoint.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tower_affinity_core::Timestamp;

use super::group::Group;
use super::groups::Table;

/// What is remembered of checks that failed too widely to be believed.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// For how long a group is tried that has just failed, in milliseconds.
    hesitation: AtomicU64,
    /// When most groups were without a healthy endpoint last, in milliseconds.
    most_failed: AtomicU64,
}

impl Doubt {
    pub(super) fn hesitate(&self, within: Duration) {
        let millis = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        self.hesitation.store(millis, Ordering::Relaxed);
    }

    /// Whether `group`, of which no endpoint is healthy, is tried all the same: most groups are like
    /// it, or were a moment ago, or it is so for too short a time to know. Endpoints are checked one
    /// by one: if it is the checks that are wrong, one group fails them, and passes them again, a
    /// moment before the others.
    pub(super) fn is_on(&self, table: &Table, group: &Group, now: impl Fn() -> Timestamp) -> bool {
        let Some(most_failed) = self.until(table, &now) else {
            return true;
        };
        let hesitation = Duration::from_millis(self.hesitation.load(Ordering::Relaxed));
        if hesitation.is_zero() {
            return false;
        }
        let since = group.load.idle_since().unwrap_or(most_failed);
        now().since(since.max(most_failed)) < hesitation
    }

    /// When most groups were without a healthy endpoint last, as far as anybody has asked meanwhile;
    /// `None` while they are.
    pub(super) fn until(
        &self,
        table: &Table,
        now: impl FnOnce() -> Timestamp,
    ) -> Option<Timestamp> {
        if most_fail(table) {
            self.most_failed.store(now().as_millis(), Ordering::Relaxed);
            return None;
        }
        Some(Timestamp::from_millis(
            self.most_failed.load(Ordering::Relaxed),
        ))
    }
}

/// Whether more than half of the groups are without a healthy endpoint: then it is the checks, or
/// us, and not the groups.
fn most_fail(table: &Table) -> bool {
    let judged = || table.groups.values().filter(|group| group.load.is_judged());
    let usable = judged().filter(|group| group.is_usable()).count();
    let failing = judged().filter(|group| group.is_failing()).count();
    failing * 2 > usable
}
