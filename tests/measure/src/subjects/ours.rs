use tower_affinity_core::{Claim, MemoryStore, PinStore, RowKey, SessionPin, StoreCall, Terms};

use super::Subject;

/// The store that ships.
pub(crate) struct Ours(MemoryStore);

impl Ours {
    /// With room for all rows in every shard.
    pub(crate) fn new(rows: usize) -> Self {
        Self(MemoryStore::new(rows + rows / 10))
    }
}

impl Subject for Ours {
    #[expect(clippy::panic, reason = "a store in memory answers at once")]
    fn claim(&self, pin: SessionPin, terms: Terms) -> SessionPin {
        let claim = Claim {
            key: RowKey::Session(pin.session),
            pin,
            terms,
            evicts: true,
        };
        match self.0.claim(claim) {
            StoreCall::Ready(Some(Ok(stands))) => stands,
            other => panic!("{other:?} is no answer"),
        }
    }
}
