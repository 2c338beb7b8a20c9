//! How many rows live where, in atomics that all shards change and readers add nothing to.

use std::collections::HashMap;
use std::sync::Arc;

use crate::store::sync::{AtomicU64, Ordering, RwLock, read, write};
use crate::{EndpointId, GroupId, Live};

/// The live rows of every group and endpoint that a row refers to.
#[derive(Debug, Default)]
pub(super) struct Counts {
    groups: RwLock<HashMap<GroupId, Group>>,
}

#[derive(Debug, Default)]
struct Group {
    live: Arc<AtomicU64>,
    endpoints: HashMap<EndpointId, Arc<AtomicU64>>,
}

/// What a shard counts the rows of one place in.
#[derive(Debug)]
pub(super) struct Counted {
    group: Arc<AtomicU64>,
    endpoint: Option<Arc<AtomicU64>>,
}

impl Counts {
    /// A shard begins to refer to a place.
    pub(super) fn enter(&self, group: &GroupId, endpoint: Option<&EndpointId>) -> Counted {
        let mut groups = write(&self.groups);
        let group = groups.entry(group.clone()).or_default();
        let endpoint = endpoint.map(|endpoint| {
            let live = group.endpoints.entry(endpoint.clone()).or_default();
            Arc::clone(live)
        });
        Counted {
            group: Arc::clone(&group.live),
            endpoint,
        }
    }

    /// A shard has no row any more that refers to a place: the last one takes the names with it.
    pub(super) fn leave(&self, id: &GroupId, endpoint: Option<&EndpointId>, counted: Counted) {
        let mut groups = write(&self.groups);
        // under the lock, so nobody enters between this and the look at who is left
        drop(counted);
        let Some(group) = groups.get_mut(id) else {
            return;
        };
        if let Some(endpoint) = endpoint
            && group.endpoints.get(endpoint).is_some_and(is_alone)
        {
            group.endpoints.remove(endpoint);
        }
        if is_alone(&group.live) {
            groups.remove(id);
        }
    }

    /// How many names are kept.
    #[cfg(test)]
    pub(super) fn names(&self) -> usize {
        let groups = read(&self.groups);
        groups.values().map(|group| 1 + group.endpoints.len()).sum()
    }
}

/// No shard counts in it.
fn is_alone(live: &Arc<AtomicU64>) -> bool {
    Arc::strong_count(live) == 1
}

impl Counted {
    /// One row more, or one less.
    pub(super) fn change(&self, lives: bool) {
        for live in [Some(&self.group), self.endpoint.as_ref()]
            .into_iter()
            .flatten()
        {
            if lives {
                live.fetch_add(1, Ordering::Relaxed);
            } else {
                live.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }
}

impl Live for Counts {
    fn of(&self, group: &GroupId) -> u64 {
        let groups = read(&self.groups);
        groups
            .get(group)
            .map_or(0, |group| group.live.load(Ordering::Relaxed))
    }

    fn at(&self, group: &GroupId, endpoint: &EndpointId) -> u64 {
        let groups = read(&self.groups);
        let live = groups
            .get(group)
            .and_then(|group| group.endpoints.get(endpoint));
        live.map_or(0, |live| live.load(Ordering::Relaxed))
    }
}
