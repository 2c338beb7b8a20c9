//! Where the time comes from: a contract, since this crate reads no clock of its own.

use crate::Timestamp;

/// A source of the present time for tokens and rules.
///
/// An implementation never goes backwards and does not follow steps of the machine's wall clock;
/// the facade's `SystemClock` says how it does that. Tests move a clock by hand.
pub trait Clock: Send + Sync + 'static {
    /// The present time.
    fn now(&self) -> Timestamp;
}

impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}
