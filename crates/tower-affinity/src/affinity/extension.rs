//! [`Affinity`]: what handlers and layers get to know about the decision.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tower_affinity_core::{Decision, EndpointId, LastMove, SessionId};

/// The decision for a request: an extension of the request and of its response, and with the
/// feature `axum` an extractor.
#[derive(Clone, Debug)]
pub struct Affinity(Arc<Known>);

/// Behind one pointer, since every layer holds it.
#[derive(Debug)]
struct Known {
    decision: Decision,
    /// Which one of those that were told in words, in the order in which they came.
    told: Option<u64>,
}

impl Affinity {
    #[inline]
    pub(crate) fn new(decision: Decision) -> Self {
        let told = None;
        Self(Arc::new(Known { decision, told }))
    }

    /// One that somebody else has made and told: how often its session has moved is open.
    pub(crate) fn told(decision: Decision) -> Self {
        static TOLD: AtomicU64 = AtomicU64::new(1);
        let told = Some(TOLD.fetch_add(1, Ordering::Relaxed));
        Self(Arc::new(Known { decision, told }))
    }

    /// Which one of those that were told it is; greater ones came later.
    pub(crate) fn nth_told(&self) -> Option<u64> {
        self.0.told
    }

    /// The session, where there is one: not for scopes without sessions, nor for requests from
    /// which a browser may have kept the cookie back.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.decision().session()
    }

    /// The name of the group that serves; `none` or `unknown` only on refused answers.
    #[must_use]
    pub fn group(&self) -> &str {
        self.decision().group_label()
    }

    /// The whole decision.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        &self.0.decision
    }

    /// The decision as it turned out, if `served` has answered in place of the session's endpoint.
    pub(crate) fn left_for(&self, served: &EndpointId) -> Option<Self> {
        let left = self.decision().has_left_for(served);
        left.then(|| Self::new(self.decision().clone().endpoint_lost()))
    }

    /// From where, when and why the session was last moved, until the application answers
    /// [`Signal::MovedSeen`](crate::signal::Signal::MovedSeen).
    #[must_use]
    pub fn moved_from(&self) -> Option<&LastMove> {
        self.decision().moved_from()
    }
}
