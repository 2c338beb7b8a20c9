//! A store behind an `Arc` is that store.

use std::sync::Arc;
use std::time::Duration;

use super::{Claim, LiveCounts, PinStore, RowFault, RowKey, StoreCall, Terms};
use crate::{SessionId, SessionPin, Timestamp};

impl<S: PinStore + ?Sized> PinStore for Arc<S> {
    fn load(&self, key: RowKey, terms: Terms) -> StoreCall<Option<SessionPin>> {
        (**self).load(key, terms)
    }

    fn claim(&self, claim: Claim) -> StoreCall<SessionPin> {
        (**self).claim(claim)
    }

    fn replace(&self, key: RowKey, pin: SessionPin, terms: Terms) -> StoreCall<SessionPin> {
        (**self).replace(key, pin, terms)
    }

    fn remove(&self, key: RowKey, session: SessionId) -> StoreCall<()> {
        (**self).remove(key, session)
    }

    fn absent(&self, fault: RowFault) -> u64 {
        (**self).absent(fault)
    }

    fn live(&self, now: Timestamp) -> LiveCounts {
        (**self).live(now)
    }

    fn having_waited(&self, waited: Duration) -> Option<Arc<dyn PinStore>> {
        (**self).having_waited(waited)
    }

    fn upkeep(&self, now: Timestamp) -> StoreCall<()> {
        (**self).upkeep(now)
    }
}
