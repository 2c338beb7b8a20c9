//! What is open for long, answers and tunnels, so that an abort can end it.
//!
//! Most answers are there as soon as they are asked for and never come here: a stream enters when
//! it is first waited for.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tower_affinity_core::GroupId;

use super::switch::Switch;

/// How many ended ids of one name are remembered: more than aborts within a session's life.
const ENDED: usize = 16;

/// The streams that are open in one group, under each of its ids.
#[derive(Default)]
pub(super) struct Open(Mutex<Table>);

#[derive(Default)]
struct Table {
    next: u64,
    streams: BTreeMap<u64, (GroupId, Weak<Switch>)>,
    ended: VecDeque<GroupId>,
}

impl Open {
    /// One more stream; its place is for [`Open::leave`].
    pub(super) fn enter(&self, id: &GroupId) -> (u64, Arc<Switch>) {
        let switch = Arc::new(Switch::default());
        let mut table = self.table();
        let place = table.next;
        table.next += 1;
        table
            .streams
            .insert(place, (id.clone(), Arc::downgrade(&switch)));
        if table.ended.contains(id) {
            switch.cut();
        }
        (place, switch)
    }

    pub(super) fn leave(&self, place: u64) {
        self.table().streams.remove(&place);
    }

    pub(super) fn streams(&self, id: &GroupId) -> Vec<OpenStream> {
        let table = self.table();
        let streams = table.streams.values().filter(|(of, _)| of == id);
        let streams = streams.filter(|(_, switch)| switch.upgrade().is_some_and(|s| !s.is_cut()));
        streams
            .map(|(_, switch)| OpenStream(Weak::clone(switch)))
            .collect()
    }

    /// Everything that is opened under `id` from now on is cut at once.
    pub(super) fn end(&self, id: &GroupId) {
        let mut table = self.table();
        if !table.ended.contains(id) {
            table.ended.push_back(id.clone());
        }
        if table.ended.len() > ENDED {
            table.ended.pop_front();
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // each change is one call on a map: it is whole even after another thread panicked
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} open", self.table().streams.len())
    }
}

/// A stream that was open when it was asked for: see
/// [`Groups::open_streams`](super::Groups::open_streams).
#[derive(Clone, Debug)]
pub struct OpenStream(Weak<Switch>);

impl OpenStream {
    /// Cuts the stream. `false` if it has ended by itself or was cut before.
    #[must_use = "what is cut is to be counted"]
    pub fn cut(&self) -> bool {
        self.0.upgrade().is_some_and(|switch| switch.cut())
    }
}
