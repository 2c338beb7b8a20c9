use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use tower_affinity_core::{SessionId, SessionPin, Terms};

use super::{Subject, refreshed};

const SHARDS: usize = 64;

/// Whole pins in maps of hashbrown, each behind a lock.
pub(crate) struct Hashbrown(Vec<Mutex<HashMap<SessionId, SessionPin>>>);

impl Hashbrown {
    pub(crate) fn new() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }
}

impl Subject for Hashbrown {
    #[expect(clippy::indexing_slicing, reason = "a remainder is within the length")]
    fn claim(&self, pin: SessionPin, terms: Terms) -> SessionPin {
        let shard = &self.0[pin.session.bits() as usize % SHARDS];
        let mut rows = shard.lock().unwrap_or_else(PoisonError::into_inner);
        match rows.entry(pin.session) {
            Entry::Occupied(mut row) => {
                let stands = refreshed(row.get(), pin, terms);
                row.insert(stands.clone());
                stands
            }
            Entry::Vacant(row) => row.insert(pin).clone(),
        }
    }
}
