//! [`Affinity`]: what handlers and layers get to know about the decision.

use std::sync::Arc;

use tower_affinity_core::{Decision, EndpointId, LastMove, SessionId};

/// The decision for a request: an extension of the request and of its response, and with the
/// feature `axum` an extractor.
#[derive(Clone, Debug)]
pub struct Affinity(Arc<Decision>);

impl Affinity {
    pub(crate) fn new(decision: Decision) -> Self {
        Self(Arc::new(decision))
    }

    /// The session, where there is one: not for scopes without sessions, nor for requests from
    /// which a browser may have kept the cookie back.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        self.0.session()
    }

    /// The name of the group that serves; `none` or `unknown` only on refused answers.
    #[must_use]
    pub fn group(&self) -> &str {
        self.0.group_label()
    }

    /// The whole decision.
    #[must_use]
    pub fn decision(&self) -> &Decision {
        &self.0
    }

    /// The decision as it turned out, if `served` has answered in place of the session's endpoint.
    pub(crate) fn left_for(&self, served: &EndpointId) -> Option<Self> {
        let left = self.0.has_left_for(served);
        left.then(|| Self::new(self.decision().clone().endpoint_lost()))
    }

    /// From where, when and why the session was last moved, until the application answers
    /// [`Signal::MovedSeen`](crate::signal::Signal::MovedSeen).
    #[must_use]
    pub fn moved_from(&self) -> Option<&LastMove> {
        self.0.moved_from()
    }
}
