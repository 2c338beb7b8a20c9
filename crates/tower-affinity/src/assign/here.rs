//! The view of a process that is one of the groups.

use std::sync::Arc;

use tower_affinity_core::{EndpointId, EndpointRef, GroupName, Readiness, Ready};

/// A view in which the group of this very process is ready, whatever its list of peers says: the
/// process runs.
pub(super) struct Here {
    pub(super) group: GroupName,
    pub(super) peers: Arc<dyn Readiness>,
}

impl Readiness for Here {
    fn of(&self, group: &GroupName) -> Ready {
        if *group == self.group {
            return Ready::Yes;
        }
        self.peers.of(group)
    }

    fn has(&self, group: &GroupName, endpoint: &EndpointRef) -> bool {
        self.peers.has(group, endpoint)
    }

    fn endpoint_ids(&self, group: &GroupName) -> Option<Arc<[EndpointId]>> {
        self.peers.endpoint_ids(group)
    }
}
