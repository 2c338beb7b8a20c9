//! Assignments in the memory of this process, bounded and exactly counted.
//!
//! Rows are spread over shards, each behind a lock of its own. A shard finds a row by an index whose
//! buckets are cache lines, keeps it packed in a chunked slab, and links it in a timer wheel under
//! the second in which it ends. Names of groups and endpoints are kept once per shard, for as long as
//! a row refers to them. What lives where is counted in atomics that no reader has to lock a shard
//! for.

mod chunked;
mod count;
mod hash;
mod index;
mod names;
mod packed;
mod shard;
mod shared;
mod slots;
mod table;
mod wheel;

use std::fmt;
use std::sync::Arc;

use super::{Claim, LiveCounts, PinStore, RowFault, RowKey, StoreCall, Terms};
use crate::{SessionId, SessionPin, Timestamp};

use self::count::Counts;
use self::shard::Shard;
use self::shared::Shared;
use super::sync::{Guard, Mutex, lock};

#[cfg(test)]
mod tests;

/// A store in the memory of this process: for one replica, or for tests.
///
/// It holds up to its capacity and never more. Rows are spread over shards by their keys, each with
/// its part of the capacity, so the first shard of a great store is full when about 97 % of the
/// capacity are used. A full shard first lets go of rows that have ended; then a claim that
/// [evicts](Claim::evicts), or a replacement by session, takes the place of the row that is nearest
/// its end.
///
/// A row that has ended is absent, swept or not. Sweeping is done by
/// [`upkeep`](PinStore::upkeep) and by whoever reads live counts first in a new second, so counts
/// are exact without anything in the background. A clock that steps is followed: rows that have
/// ended by a time that was swept do not come back, and later ones end by the clock as it is.
///
/// All calls are answered at once. A row costs about 85 bytes beside its key, of which 6 are taken for
/// the whole capacity soon after the first rows; one that tells claims of another release, or a last
/// move from a group that is not known any more, is kept whole as well and costs about 300. Memory
/// once taken is kept for later rows. Seconds have 32 bits, which is enough until the year 2106.
pub struct MemoryStore {
    shards: Box<[Mutex<Shard>]>,
    capacity: usize,
    shared: Arc<Shared>,
}

/// The rows of a shard: so few that looking at all of them, its longest pause, takes a fraction of
/// a millisecond, and so many that chance fills the first one not long before the others.
const ROWS_PER_SHARD: usize = 1 << 14;

/// The most shards.
const MAX_SHARDS: usize = 1 << 16;

/// The most rows. Those of a shard, and twice as many names, are told apart by 16 bits.
const MOST_ROWS: usize = MAX_SHARDS * ROWS_PER_SHARD;

impl MemoryStore {
    /// An empty store for `capacity` rows, at most 2³⁰, which takes memory as rows come. With 0 it
    /// keeps nothing.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.min(MOST_ROWS);
        let shards = capacity.div_ceil(ROWS_PER_SHARD).next_power_of_two();
        Self::with_shards(capacity, shards)
    }

    /// A store of a power of two of shards.
    fn with_shards(capacity: usize, shards: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let shard = |nth| {
            let of_rest = usize::from(nth < capacity % shards);
            Mutex::new(Shard::new(capacity / shards + of_rest, Arc::clone(&shared)))
        };
        Self {
            shards: (0..shards).map(shard).collect(),
            capacity,
            shared,
        }
    }

    /// The most rows that it holds.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many rows it holds, with those that have ended and are not swept yet.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    /// The shard of a key: by bits that are random already, or a hash.
    #[expect(clippy::indexing_slicing, reason = "a remainder is within the length")]
    fn shard(&self, key: RowKey) -> Guard<'_, Shard> {
        let (_, bits) = key.parts();
        let folded = (bits >> 64) as usize ^ bits as usize;
        lock(&self.shards[folded % self.shards.len()])
    }

    /// Lets go of everything that has ended, one shard after another.
    fn sweep(&self, now: Timestamp) {
        self.shared.sweep_once(now, || {
            for shard in &self.shards {
                // a lock is held for a bounded number of rows
                while !lock(shard).sweep(now) {}
            }
        });
    }
}

impl PinStore for MemoryStore {
    fn load(&self, key: RowKey, terms: Terms) -> StoreCall<Option<SessionPin>> {
        StoreCall::ready(self.shard(key).load(key, terms))
    }

    fn claim(&self, claim: Claim) -> StoreCall<SessionPin> {
        StoreCall::ready(self.shard(claim.key).claim(claim))
    }

    fn replace(&self, key: RowKey, pin: SessionPin, terms: Terms) -> StoreCall<SessionPin> {
        StoreCall::ready(self.shard(key).replace(key, pin, terms))
    }

    fn remove(&self, key: RowKey, session: SessionId) -> StoreCall<()> {
        self.shard(key).remove(key, session);
        StoreCall::ready(())
    }

    fn absent(&self, fault: RowFault) -> u64 {
        self.shared.absent(fault)
    }

    fn live(&self, now: Timestamp) -> LiveCounts {
        self.sweep(now);
        LiveCounts::Known(Arc::<Counts>::clone(&self.shared.counts))
    }

    fn upkeep(&self, now: Timestamp) -> StoreCall<()> {
        self.sweep(now);
        StoreCall::ready(())
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("capacity", &self.capacity)
            .field("shards", &self.shards.len())
            .finish_non_exhaustive()
    }
}
