//! Whether a pin's times hold.

use std::time::Duration;

use super::SessionPin;
use crate::{Fault, Lifetimes, Timestamp};

/// How far in the future another replica's clock may have issued a pin.
pub(crate) const SKEW: Duration = Duration::from_secs(5 * 60);

/// How far above the time in seconds a revision can be. A rollout begins at that time and counts its
/// changes, so this is room for one change a second over 136 years; a pin beyond it is a mistake
/// that would raise our own revision to where it cannot grow any more.
const REVISIONS_AHEAD: u64 = 1 << 32;

impl SessionPin {
    /// Whether the pin is valid at `now`: before its expiry, and before the end of its session as
    /// configured now.
    ///
    /// # Errors
    ///
    /// [`Fault::FromFuture`], [`Fault::ExpiredMax`] or [`Fault::ExpiredIdle`].
    pub fn check_times(&self, now: Timestamp, lifetimes: Lifetimes) -> Result<(), Fault> {
        let latest = now.plus(SKEW);
        let unreached = now.as_secs().saturating_add(REVISIONS_AHEAD);
        if self.issued > latest || self.started > latest || self.revision.0 > unreached {
            return Err(Fault::FromFuture);
        }
        if now >= self.started.plus(lifetimes.max_age()) {
            return Err(Fault::ExpiredMax);
        }
        if now >= self.expires {
            return Err(Fault::ExpiredIdle);
        }
        Ok(())
    }
}
