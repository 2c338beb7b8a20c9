//! [`LocalSessions`]: what an application sees of the room.

use std::fmt;
use std::sync::Arc;

use tower_affinity_core::{Cause, Clock, Decision, Kind, Lifetimes, SessionId};

use super::builder::LocalSessionsBuilder;
use super::local::Local;
use super::room::Room;
use super::shard::Stay;
use crate::Affinity;

/// One value of type `T` per session, in this process; see the [module](super). Its clones are the
/// same room.
pub struct LocalSessions<T>(Arc<Room<T>>);

impl<T> LocalSessions<T> {
    /// Collects what they need besides the lifetimes of pins: those that the layer has, or the
    /// gateway in front.
    pub fn builder(lifetimes: Lifetimes) -> LocalSessionsBuilder<T> {
        LocalSessionsBuilder::new(lifetimes)
    }

    pub(super) fn new(built: &LocalSessionsBuilder<T>, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Room::new(built, clock)))
    }

    /// The place of the request's session; `None` where there is no session. This is use: the idle
    /// timeout begins again.
    ///
    /// Behind a [`FromGatewayLayer`](crate::FromGatewayLayer) without a verifier, a request that is told
    /// as moved here, or whose endpoint was lost, empties the place of what requests before it have
    /// put there.
    #[must_use]
    pub fn of(&self, affinity: &Affinity) -> Option<Local<T>> {
        let decision = affinity.decision();
        let pin = decision.pin.as_ref()?;
        let session = pin.session;
        let Some(nth) = affinity.nth_told() else {
            let moves = pin.moves;
            return Some(self.place(Stay { session, moves }, 0));
        };
        // whether it has ever moved is told for a while only
        let stay = Stay { session, moves: 0 };
        if begins_stay(decision) {
            self.0.leave(stay, nth);
        }
        Some(self.place(stay, nth))
    }

    /// The place of a session whose id something else vouches for, such as the header
    /// `affinity-session` where *only* a gateway can reach this process. This is use.
    ///
    /// An id does not say that its session was away: on `affinity-decision: moved`, or with
    /// `cause=endpoint_lost`, remove what the place still holds.
    #[must_use]
    pub fn of_session(&self, session: SessionId) -> Local<T> {
        self.place(Stay { session, moves: 0 }, 0)
    }

    fn place(&self, stay: Stay, nth: u64) -> Local<T> {
        self.0.touch(stay);
        Local::new(Arc::clone(&self.0), stay, nth)
    }

    /// How many values there are, those included that have ended and were not swept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.held()
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops values that have ended, at most 1,024 a call, and says how many.
    #[expect(clippy::must_use_candidate, reason = "timers do not mind")]
    pub fn sweep(&self) -> usize {
        self.0.sweep()
    }
}

/// Whether the session comes from elsewhere with this request.
fn begins_stay(decision: &Decision) -> bool {
    decision.kind == Kind::Moved || decision.cause == Cause::EndpointLost
}

impl<T> Clone for LocalSessions<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for LocalSessions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSessions")
            .field("len", &self.len())
            .field("capacity", &self.0.capacity())
            .field("idle_timeout", &self.0.idle())
            .finish_non_exhaustive()
    }
}
