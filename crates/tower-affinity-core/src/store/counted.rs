//! Counts of stores that count now and then.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Live, LiveCounts};
use crate::{EndpointId, GroupId, Timestamp};

/// The live sessions as they were counted at one time.
#[derive(Debug)]
pub struct Counted {
    at: Timestamp,
    groups: HashMap<GroupId, Group>,
}

#[derive(Debug, Default)]
struct Group {
    all: u64,
    bound: HashMap<EndpointId, u64>,
}

impl Counted {
    /// Counts that are older are not told.
    pub const FRESH: Duration = Duration::from_secs(10);

    /// Nothing, counted at `at`.
    #[must_use]
    pub fn new(at: Timestamp) -> Self {
        Self {
            at,
            groups: HashMap::new(),
        }
    }

    /// Adds live rows of a group, bound to an endpoint or to none.
    pub fn add(&mut self, group: GroupId, endpoint: Option<EndpointId>, count: u64) {
        let group = self.groups.entry(group).or_default();
        group.all = group.all.saturating_add(count);
        if let Some(endpoint) = endpoint {
            let bound = group.bound.entry(endpoint).or_default();
            *bound = bound.saturating_add(count);
        }
    }

    /// What is told of them at `now`, be it by a clock that was set back.
    #[must_use]
    pub fn told(self: &Arc<Self>, now: Timestamp) -> LiveCounts {
        let is_fresh = now.since(self.at) <= Self::FRESH && self.at.since(now) <= Self::FRESH;
        if is_fresh {
            LiveCounts::Known(Arc::<Self>::clone(self))
        } else {
            LiveCounts::Unknown
        }
    }
}

impl Live for Counted {
    fn of(&self, group: &GroupId) -> u64 {
        self.groups.get(group).map_or(0, |group| group.all)
    }

    fn at(&self, group: &GroupId, endpoint: &EndpointId) -> u64 {
        let group = self.groups.get(group);
        let bound = group.and_then(|group| group.bound.get(endpoint));
        bound.copied().unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;
    use crate::fixtures::{at, name};

    #[test]
    fn counts_are_told_while_they_are_fresh() {
        let group = GroupId::new(name("a"), 1);
        let endpoint = EndpointId::new("10.0.0.1:80");
        let mut counted = Counted::new(at(100));
        counted.add(group.clone(), Some(endpoint.clone()), 2);
        counted.add(group.clone(), None, 1);
        let counted = Arc::new(counted);
        for now in [90, 100, 110] {
            let LiveCounts::Known(live) = counted.told(at(now)) else {
                panic!("not told at {now} s");
            };
            assert_eq!((live.of(&group), live.at(&group, &endpoint)), (3, 2));
        }
        for now in [89, 111] {
            let told = counted.told(at(now));
            assert!(matches!(told, LiveCounts::Unknown), "told at {now} s");
        }
    }
}
