//! Why a layer cannot forward to peers.

use thiserror::Error;

/// An [`AffinityLayer`](crate::AffinityLayer) that cannot forward to peers.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeersError {
    /// It does not say which group this process is.
    #[error("the group of this process was not given: AffinityBuilder::serving names it")]
    NotServing,
    /// The ring has a key that only verifies, and marks of peers that sign with it would not be
    /// taken here.
    #[error(
        "a key of the ring only verifies: processes that forward to each other need the private half \
         of every key"
    )]
    VerifyingKey,
}
