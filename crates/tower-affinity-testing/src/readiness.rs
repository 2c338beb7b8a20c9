//! A view of what is ready that a test writes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tower_affinity_core::{GroupName, Readiness, Ready, Timestamp};

/// A view in which every group is ready until a test says otherwise. Its clones are the same view.
#[derive(Clone, Debug, Default)]
pub struct ScriptedReadiness(Arc<Mutex<BTreeMap<GroupName, Timestamp>>>);

impl ScriptedReadiness {
    /// From now on `group` has no ready endpoint, and has had none since `since`.
    pub fn down(&self, group: GroupName, since: Timestamp) {
        self.groups(|down| down.insert(group, since));
    }

    /// From now on `group` has one again.
    pub fn up(&self, group: &GroupName) {
        self.groups(|down| down.remove(group));
    }

    fn groups<T>(&self, ask: impl FnOnce(&mut BTreeMap<GroupName, Timestamp>) -> T) -> T {
        // a test that failed while it held the lock has left a whole map behind
        ask(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Readiness for ScriptedReadiness {
    fn of(&self, group: &GroupName) -> Ready {
        match self.groups(|down| down.get(group).copied()) {
            Some(since) => Ready::No { since },
            None => Ready::Yes,
        }
    }
}
