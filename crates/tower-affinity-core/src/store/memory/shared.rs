//! What the shards of a store share.

use std::sync::Arc;

use super::count::Counts;
use crate::store::sync::{AtomicU64, Ordering};
use crate::{RowFault, Timestamp};

#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) counts: Arc<Counts>,
    /// Rows that were absent when somebody asked for them, by [`RowFault`].
    absent: [AtomicU64; RowFault::ALL.len()],
    /// The second that all shards were swept at, and how many rows were filed before it up to then.
    swept: AtomicU64,
    /// How many rows were filed under seconds that had been reached.
    filed_back: AtomicU64,
}

impl Shared {
    /// Sweeps, unless that was done in the second of `now` and no row was filed back since.
    pub(super) fn sweep_once(&self, now: Timestamp, sweep: impl FnOnce()) {
        let filed_back = self.filed_back.load(Ordering::Acquire);
        // 32 bits of each are enough for a comparison with the last sweep
        let sweeping = now.as_secs() << 32 | filed_back & u64::from(u32::MAX);
        if self.swept.load(Ordering::Acquire) != sweeping {
            sweep();
            self.swept.store(sweeping, Ordering::Release);
        }
    }

    /// A row was filed under a second that its shard had reached.
    pub(super) fn filed_back(&self) {
        self.filed_back.fetch_add(1, Ordering::Release);
    }

    /// A row was absent for this reason.
    #[expect(clippy::indexing_slicing, reason = "there is one for each fault")]
    pub(super) fn was_absent(&self, fault: RowFault) {
        self.absent[fault as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How often rows were absent for this reason.
    #[expect(clippy::indexing_slicing, reason = "there is one for each fault")]
    pub(super) fn absent(&self, fault: RowFault) -> u64 {
        self.absent[fault as usize].load(Ordering::Relaxed)
    }
}
