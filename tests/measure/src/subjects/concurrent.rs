use dashmap::DashMap;
use tower_affinity_core::{SessionId, SessionPin, Terms};

use super::{Subject, refreshed};

#[derive(Default)]
pub(crate) struct Dash(DashMap<SessionId, SessionPin>);

impl Subject for Dash {
    fn claim(&self, pin: SessionPin, terms: Terms) -> SessionPin {
        match self.0.entry(pin.session) {
            dashmap::Entry::Occupied(mut row) => {
                let stands = refreshed(row.get(), pin, terms);
                row.insert(stands.clone());
                stands
            }
            dashmap::Entry::Vacant(row) => row.insert(pin).clone(),
        }
    }
}

#[derive(Default)]
pub(crate) struct Scc(scc::HashMap<SessionId, SessionPin>);

impl Subject for Scc {
    fn claim(&self, pin: SessionPin, terms: Terms) -> SessionPin {
        match self.0.entry_sync(pin.session) {
            scc::hash_map::Entry::Occupied(mut row) => {
                let stands = refreshed(row.get(), pin, terms);
                row.insert(stands.clone());
                stands
            }
            scc::hash_map::Entry::Vacant(row) => row.insert_entry(pin).get().clone(),
        }
    }
}

/// Without a lock: a row is computed again until nobody has changed it meanwhile.
#[derive(Default)]
pub(crate) struct Papaya(papaya::HashMap<SessionId, SessionPin>);

impl Subject for Papaya {
    fn claim(&self, pin: SessionPin, terms: Terms) -> SessionPin {
        let rows = self.0.pin();
        let change = |standing: &SessionPin| refreshed(standing, pin.clone(), terms);
        rows.update_or_insert(pin.session, change, pin.clone())
            .clone()
    }
}

/// A cache with a capacity and an expiry of its own.
pub(crate) struct Moka(moka::sync::Cache<SessionId, SessionPin>);

impl Moka {
    pub(crate) fn new(rows: usize) -> Self {
        let cache = moka::sync::Cache::builder()
            .max_capacity((rows + rows / 10) as u64)
            .time_to_idle(std::time::Duration::from_secs(30 * 60));
        Self(cache.build())
    }
}

impl Subject for Moka {
    fn claim(&self, pin: SessionPin, terms: Terms) -> SessionPin {
        let entry = self
            .0
            .entry(pin.session)
            .and_upsert_with(|standing| match standing {
                Some(standing) => refreshed(standing.value(), pin.clone(), terms),
                None => pin.clone(),
            });
        entry.into_value()
    }
}
