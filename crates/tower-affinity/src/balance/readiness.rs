//! What the rule asks of [`Groups`]: which groups are ready, and which endpoints they have.

use std::sync::Arc;

use tower_affinity_core::{EndpointId, EndpointRef, GroupName, Readiness, Ready};

use super::bound::keeps;
use super::groups::Groups;
use super::pick::panics;

impl Readiness for Groups {
    /// A group that is not known has not been ready since the start. One that has just failed is
    /// not ready, though it is still tried for those who belong to it: new sessions have others. One
    /// whose checks were not believed counts as ready until they are: that others pass them again
    /// before it does must not make it lost in that very moment.
    fn of(&self, group: &GroupName) -> Ready {
        let table = self.table();
        let Some(group) = table.get(group) else {
            return Ready::No {
                since: self.start_of_time(),
            };
        };
        match group.load.idle_since() {
            None => Ready::Yes,
            Some(since) if group.is_usable() => {
                self.doubted_until(&table)
                    .map_or(Ready::Yes, |end| Ready::No {
                        since: since.max(end),
                    })
            }
            Some(since) => Ready::No { since },
        }
    }

    fn has(&self, group: &GroupName, endpoint: &EndpointRef) -> bool {
        let table = self.table();
        let (Some(group), Some(id)) = (table.get(group), endpoint.known()) else {
            return false;
        };
        let panics = !group.is_calm() && panics(&group.endpoints, || self.doubts(&table, group));
        let mut endpoints = group.endpoints.iter();
        endpoints
            .find(|endpoint| endpoint.id() == id)
            .is_some_and(|endpoint| keeps(&group.endpoints, endpoint, panics, || self.now()))
    }

    fn endpoint_ids(&self, group: &GroupName) -> Option<Arc<[EndpointId]>> {
        // a group that is not known has none, and no pin is read for it
        self.table().get(group).map(|group| Arc::clone(&group.ids))
    }
}

impl Groups {
    /// The view in which only a group with a healthy endpoint is ready, however many are not: for
    /// who is about to send a group's sessions somewhere.
    #[must_use]
    pub fn healthy(&self) -> Healthy {
        Healthy(self.clone())
    }
}

/// See [`Groups::healthy`].
#[derive(Clone, Debug)]
pub struct Healthy(Groups);

impl Readiness for Healthy {
    fn of(&self, group: &GroupName) -> Ready {
        let table = self.0.table();
        let start = self.0.start_of_time();
        let since = table
            .get(group)
            .map_or(Some(start), |group| group.load.idle_since());
        since.map_or(Ready::Yes, |since| Ready::No { since })
    }
}
