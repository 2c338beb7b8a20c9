//! Stored assignments: the contract of a store, and what its rows look like.
//!
//! A store is a cache of decisions, never the truth. The signed pin that a client shows is decided
//! on first; the store then hears of the decision and answers the row that stands. Only if that row
//! is the greater pin of the same session, or belongs to a client that has shown none, it is decided
//! on instead. So each request takes at most one command, a store that has lost its rows gets them
//! back from the clients, and one that is out of reach changes nothing for those that hold a pin.
//!
//! Every row ends by itself. Whether it has ended is decided by whoever reads it, against its
//! expiry and the session's age as configured now; that something sweeps rows away as well is
//! housekeeping.

mod breaker;
mod call;
mod counted;
mod key;
mod live;
mod memory;
mod row;
mod shared;
mod sync;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{Lifetimes, SessionId, SessionPin, Timestamp};

pub use breaker::{Admission, Breaker, Change as BreakerChange};
pub use call::{StoreCall, StoreError};
pub use counted::Counted;
pub use key::RowKey;
pub use live::{Live, LiveCounts, NoCounts};
pub use memory::MemoryStore;
pub use row::{MAX_ROW, RowCodec, RowFault, is_current};

#[cfg(test)]
mod tests;

/// A place that keeps assignments by session, or by what a scope names.
///
/// All methods are told the time: a store has no clock of its own, and takes rows for absent that
/// have ended by then, swept or not. A future that is dropped leaves the row as it is, or with the
/// change made. Errors are for what keeps the store from answering; a row that cannot be read is
/// absent.
pub trait PinStore: fmt::Debug + Send + Sync + 'static {
    /// The row that stands; nothing is written.
    fn load(&self, key: RowKey, terms: Terms) -> StoreCall<Option<SessionPin>>;

    /// Stores `pin` unless a row stands: the first of parallel claims wins. Answers the row that
    /// stands afterwards, [touched](SessionPin::touched), or `pin` itself where it
    /// could not be kept (see [`Claim::evicts`]).
    fn claim(&self, claim: Claim) -> StoreCall<SessionPin>;

    /// Touches or moves a session: stores `pin` where no row stands or where the one of the same
    /// session [is older](SessionPin::supersedes), in one atomic step. Answers the row that
    /// stands afterwards, so whoever has lost a race hears of the winner.
    ///
    /// A row of another session stands. A full store keeps a new row if its key
    /// [may displace](RowKey::may_displace) another.
    fn replace(&self, key: RowKey, pin: SessionPin, terms: Terms) -> StoreCall<SessionPin>;

    /// Removes the row of a session that has ended; that of another session stands.
    fn remove(&self, key: RowKey, session: SessionId) -> StoreCall<()>;

    /// How many rows were absent so far that the store has returned, for this reason.
    fn absent(&self, fault: RowFault) -> u64;

    /// The live sessions, as far as they are known at `now`.
    fn live(&self, now: Timestamp) -> LiveCounts;

    /// This store for a request that has `waited` for it already, where that leaves it less time;
    /// `None`, the default, where it does not.
    fn having_waited(&self, _waited: Duration) -> Option<Arc<dyn PinStore>> {
        None
    }

    /// What is to be done about once a second: sweep what has ended, count anew where counting takes
    /// a while. Nothing but the age of [`live`](Self::live) depends on it.
    fn upkeep(&self, now: Timestamp) -> StoreCall<()>;
}

/// The time of a call, and how long rows live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The request's one reading of the clock.
    pub now: Timestamp,
    /// The lifetimes as configured now.
    pub lifetimes: Lifetimes,
}

/// The first row of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// What the row is found by.
    pub key: RowKey,
    /// The pin to store.
    pub pin: SessionPin,
    /// The time and the lifetimes.
    pub terms: Terms,
    /// Whether a full store may let go of the row that is nearest its end to keep this one. Only for
    /// who has shown a valid pin, and [for a session](RowKey::may_displace): whoever makes up keys
    /// displaces nobody.
    pub evicts: bool,
}
