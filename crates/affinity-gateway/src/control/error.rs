//! Why a change was not made.

use std::net::SocketAddr;

use thiserror::Error;
use tower_affinity::core::{GroupName, KeyError, Refusal, Revision, RolloutError, SharedError};

use super::shared::SharedTrouble;
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
    /// An endpoint belongs to another group.
    #[error("{address} is an endpoint of group {group} already; retire that one first")]
    EndpointTaken {
        /// The endpoint.
        address: SocketAddr,
        /// The group that has it.
        group: GroupName,
    },
    /// A group has no such endpoint.
    #[error("group {group} has no endpoint {address}")]
    NoEndpoint {
        /// The group.
        group: GroupName,
        /// The address.
        address: SocketAddr,
    },
    /// Without that endpoint none of its group would take requests.
    #[error(
        "no other endpoint of group {group} is ready: without {address} it serves nobody, and its \
         sessions move once it counts as lost (can be forced)"
    )]
    LastEndpoint {
        /// The group.
        group: GroupName,
        /// The endpoint.
        address: SocketAddr,
    },
    /// A deadline without sessions that stay until it.
    #[error("within is the deadline of the policy stay, and the policy is {0}")]
    Within(&'static str),
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
    /// The shared state cannot be used; every change but an abort is refused until it can.
    #[error(
        "until the shared state can be used, only an abort is accepted, and holds on this replica"
    )]
    Shared(#[from] SharedTrouble),
    /// What the engine holds is refused, and nothing was accepted before that could be served.
    #[error(
        "what the replicas share cannot be used and there is no state of this one; restore it, or \
         delete the document (PREFIX/state in etcd): a replica that runs writes its own back"
    )]
    SharedRefused(#[source] SharedError),
    /// The system has no random numbers, which a replica's name and its writes are made of.
    #[error("the system's random generator fails")]
    Random(#[from] getrandom::Error),
    /// The new state could not be kept, so it was not made.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An edit that a rule forbids; nothing of the file was applied.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EditError {
    /// A verb that the edit stands for was refused.
    #[error("group {group}: {refusal}")]
    Refused {
        /// The group whose block was edited.
        group: GroupName,
        /// Why.
        refusal: Refusal,
    },
    /// A state was edited against the direction of a group's life.
    #[error(
        "group {group}: a group that is {from} cannot be made {to} by an edit{hint}",
        hint = if *from == "aborted" || *from == "retired" { "; restore it" } else { "" }
    )]
    Backwards {
        /// The group.
        group: GroupName,
        /// The state last applied.
        from: &'static str,
        /// The state in the file.
        to: &'static str,
    },
    /// A block was removed whose group still has sessions.
    #[error("group {group} was removed from the file: {refusal}; drain it first")]
    Removed {
        /// The group.
        group: GroupName,
        /// Why it cannot be retired.
        refusal: Refusal,
    },
}
