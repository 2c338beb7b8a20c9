//! Why a change was not made.

use thiserror::Error;
use tower_affinity::core::{KeyError, Refusal, Revision, RolloutError};

use super::edit::EditError;
use super::store::StoreError;

/// A change that was not made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// A rule forbids it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The state has changed since they looked.
    #[error("the rollout is at revision {now}, not {expected}; look again, then repeat")]
    Stale {
        /// The revision that they saw.
        expected: Revision,
        /// The present one.
        now: Revision,
    },
    /// An edit of the configuration is forbidden.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The groups of the configuration are no valid rollout.
    #[error("the groups of the configuration are no valid rollout")]
    Rollout(#[from] RolloutError),
    /// A key left the ring too early.
    #[error(
        "key {id} cannot leave pin.keys yet: {why}; pins that it signed would be lost. \
         List it in pin.drop_early to drop it all the same"
    )]
    Key {
        /// The key's id.
        id: String,
        /// Why, and until when.
        why: String,
    },
    /// The keys cannot be used.
    #[error("the keys of the configuration cannot be used")]
    Keyring(#[source] KeyError),
    /// The new state could not be kept, so it was not made.
    #[error(transparent)]
    Store(#[from] StoreError),
}
