//! How many sessions live where, as of the last time that they were counted.

use std::collections::HashMap;
use std::time::Duration;

use tower_affinity_core::{EndpointId, GroupId, Live, Timestamp};

use crate::row::parse_label;

/// Counts that are older are not told.
pub(crate) const FRESH: Duration = Duration::from_secs(10);

/// The live sessions of all buckets together.
#[derive(Debug, Default)]
pub(crate) struct Counts(HashMap<GroupId, Group>);

#[derive(Debug, Default)]
struct Group {
    all: u64,
    bound: HashMap<EndpointId, u64>,
}

impl Counts {
    /// Adds the live rows of one label; a label that nobody can have written counts nowhere.
    pub(crate) fn add(&mut self, label: &str, count: u64) {
        let Some((group, endpoint)) = parse_label(label) else {
            return;
        };
        let group = self.0.entry(group).or_default();
        group.all = group.all.saturating_add(count);
        if let Some(endpoint) = endpoint {
            let bound = group.bound.entry(endpoint).or_default();
            *bound = bound.saturating_add(count);
        }
    }
}

impl Live for Counts {
    fn of(&self, group: &GroupId) -> u64 {
        self.0.get(group).map_or(0, |group| group.all)
    }

    fn at(&self, group: &GroupId, endpoint: &EndpointId) -> u64 {
        let group = self.0.get(group);
        let bound = group.and_then(|group| group.bound.get(endpoint));
        bound.copied().unwrap_or_default()
    }
}

/// Whether what was counted at `then` is told at `now`, be it by a clock that was set back.
pub(crate) fn is_fresh(then: Timestamp, now: Timestamp) -> bool {
    now.since(then) <= FRESH && then.since(now) <= FRESH
}
