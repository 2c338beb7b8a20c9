//! A part of the sessions under one lock: found by stay, and in the order in which they end.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tower_affinity_core::{SessionId, Timestamp};

use super::cell::Cell;
use crate::record::Recorder;

/// A session between two moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stay {
    pub(super) session: SessionId,
    pub(super) moves: u32,
}

/// When a value ends. Of several that end in the same millisecond, the one first used is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub(super) at: Timestamp,
    pub(super) nth: u64,
}

/// What a stay holds. To be dropped outside of any lock, as that is the application's code.
pub(super) struct Entry<T> {
    pub(super) cell: Arc<Cell<T>>,
    /// Which request has put it there, of those that a gateway has told of.
    pub(super) nth: u64,
    due: Due,
    _shown: Shown,
}

impl<T> Entry<T> {
    pub(super) fn new(cell: Arc<Cell<T>>, nth: u64, due: Due, shown: Shown) -> Self {
        Self {
            cell,
            nth,
            due,
            _shown: shown,
        }
    }

    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        self.due.at <= now
    }
}

/// Counted in the gauge until it is dropped.
pub(super) struct Shown(Option<Recorder>);

impl Shown {
    pub(super) fn new(recorder: &Recorder) -> Self {
        Self(recorder.local_held().then(|| recorder.clone()))
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(recorder) = &self.0 {
            recorder.local_left();
        }
    }
}

pub(super) struct Shard<T> {
    entries: HashMap<Stay, Entry<T>>,
    order: BTreeMap<Due, Stay>,
}

impl<T> Default for Shard<T> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            order: BTreeMap::new(),
        }
    }
}

impl<T> Shard<T> {
    /// The value of `stay`, which ends at `due` from now on, or later if it would anyway.
    pub(super) fn touch(&mut self, stay: Stay, now: Timestamp, due: Due) -> Option<Arc<Cell<T>>> {
        let entry = self.entries.get_mut(&stay)?;
        // one that has ended is not there, whether it was swept or not
        if entry.is_over(now) {
            return None;
        }
        if due > entry.due {
            self.order.remove(&entry.due);
            self.order.insert(due, stay);
            entry.due = due;
        }
        Some(Arc::clone(&entry.cell))
    }

    /// Puts `entry` in, and gives back the one in whose place it comes.
    pub(super) fn put(&mut self, stay: Stay, entry: Entry<T>) -> Option<Entry<T>> {
        self.order.insert(entry.due, stay);
        let former = self.entries.insert(stay, entry);
        if let Some(former) = &former {
            self.order.remove(&former.due);
        }
        former
    }

    pub(super) fn take_if(
        &mut self,
        stay: Stay,
        goes: impl FnOnce(&Entry<T>) -> bool,
    ) -> Option<Entry<T>> {
        self.entries.get(&stay).filter(|entry| goes(entry))?;
        let entry = self.entries.remove(&stay)?;
        self.order.remove(&entry.due);
        Some(entry)
    }

    /// When the first one ends.
    pub(super) fn first(&self) -> Option<Due> {
        self.order.first_key_value().map(|(due, _)| *due)
    }

    pub(super) fn take_first(&mut self) -> Option<Entry<T>> {
        let (_, stay) = self.order.pop_first()?;
        self.entries.remove(&stay)
    }

    /// Takes out up to `most` that have ended.
    pub(super) fn take_over(&mut self, now: Timestamp, most: usize, out: &mut Vec<Entry<T>>) {
        for _ in 0..most {
            if self.first().is_none_or(|due| due.at > now) {
                return;
            }
            out.extend(self.take_first());
        }
    }
}
