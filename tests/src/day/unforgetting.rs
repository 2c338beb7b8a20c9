//! [`Unforgetting`]: the mistake that is to be seen.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use tower_affinity::core::{
    Claim, EndpointId, EndpointRef, GroupId, Live, LiveCounts, PinStore, RowFault, RowKey,
    SessionId, SessionPin, StoreCall, Terms, Timestamp,
};

/// A store whose rows are right, and whose counts never go down: every session that was ever bound
/// to an endpoint counts there for ever.
#[derive(Debug)]
pub struct Unforgetting<S> {
    store: S,
    ever: Arc<Ever>,
}

#[derive(Debug, Default)]
struct Ever(Mutex<(HashSet<SessionId>, BTreeMap<EndpointId, u64>)>);

impl<S> Unforgetting<S> {
    /// Makes `store` remember for ever.
    pub fn new(store: S) -> Self {
        Self {
            store,
            ever: Arc::default(),
        }
    }

    fn note(&self, pin: &SessionPin) {
        if let Some(EndpointRef::Known(endpoint)) = &pin.endpoint {
            let (sessions, counts) = &mut *self.ever.0.lock().unwrap();
            if sessions.insert(pin.session) {
                *counts.entry(endpoint.clone()).or_default() += 1;
            }
        }
    }
}

impl<S: PinStore> PinStore for Unforgetting<S> {
    fn load(&self, key: RowKey, terms: Terms) -> StoreCall<Option<SessionPin>> {
        self.store.load(key, terms)
    }

    fn claim(&self, claim: Claim) -> StoreCall<SessionPin> {
        self.note(&claim.pin);
        self.store.claim(claim)
    }

    fn replace(&self, key: RowKey, pin: SessionPin, terms: Terms) -> StoreCall<SessionPin> {
        self.note(&pin);
        self.store.replace(key, pin, terms)
    }

    fn remove(&self, key: RowKey, session: SessionId) -> StoreCall<()> {
        self.store.remove(key, session)
    }

    fn absent(&self, fault: RowFault) -> u64 {
        self.store.absent(fault)
    }

    fn live(&self, _: Timestamp) -> LiveCounts {
        LiveCounts::Known(self.ever.clone())
    }

    fn upkeep(&self, now: Timestamp) -> StoreCall<()> {
        self.store.upkeep(now)
    }
}

impl Live for Ever {
    fn of(&self, _: &GroupId) -> u64 {
        self.0.lock().unwrap().0.len() as u64
    }

    fn at(&self, _: &GroupId, endpoint: &EndpointId) -> u64 {
        let (_, counts) = &*self.0.lock().unwrap();
        counts.get(endpoint).copied().unwrap_or(0)
    }
}
