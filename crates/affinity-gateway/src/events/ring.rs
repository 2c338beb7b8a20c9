//! The last events.

use std::collections::VecDeque;
use std::sync::Arc;

use tower_affinity::core::{GroupName, Timestamp};

use super::{Event, KEPT, Kind};

/// The last [`KEPT`] events, the earliest first.
#[derive(Debug, Default)]
pub(super) struct Ring(VecDeque<Arc<Event>>);

impl Ring {
    pub(super) fn push(
        &mut self,
        at: Timestamp,
        kind: Kind,
        group: Option<GroupName>,
        text: String,
    ) {
        // the time, so that who was connected to us before a restart does not wait for ever
        let id = at.as_millis().max(self.last().saturating_add(1));
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(Arc::new(Event {
            id,
            at,
            kind,
            group,
            text,
        }));
    }

    pub(super) fn after(&self, id: Option<u64>) -> Vec<Arc<Event>> {
        let seen = id.filter(|id| *id <= self.last()).unwrap_or(0);
        let from = self.0.partition_point(|event| event.id <= seen);
        self.0.iter().skip(from).cloned().collect()
    }

    fn last(&self) -> u64 {
        self.0.back().map_or(0, |event| event.id)
    }
}
