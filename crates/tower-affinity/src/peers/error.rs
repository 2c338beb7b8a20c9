//! Why a layer cannot forward to peers.

use thiserror::Error;

/// An [`AffinityLayer`](crate::AffinityLayer) that cannot forward to peers.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeersError {
    /// It does not say which group this process is.
    #[error("the group of this process was not given: AffinityBuilder::serving names it")]
    NotServing,
    /// A scope binds sessions to endpoints, and a process serves every request of its group.
    #[error("a scope has the level `endpoint`, which only a gateway can keep; use `group`")]
    EndpointScope,
}
