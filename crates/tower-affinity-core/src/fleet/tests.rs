//! What replicas say of themselves, and what the fleet concludes from it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod checks;
mod document;
mod drained;
mod facts;
mod meeting;
mod shared;
mod sketch;
mod world;

use super::{Acknowledged, GroupRecord, ReplicaRecord};
use crate::fixtures::{at, id, key};
use crate::{Keyring, Revision, Timestamp};

/// The record of a replica with the key `k1` that knows nothing of any group.
fn record(now: Timestamp) -> ReplicaRecord {
    let keyring = Keyring::new([key("k1", 1)]).unwrap();
    ReplicaRecord {
        revision: Revision(10),
        at: now,
        left: false,
        admin: None,
        config: None,
        signing: "k1".parse().unwrap(),
        keys: keyring.digests(),
        groups: Vec::new(),
    }
}

/// What a replica says of a group that drains since 0, if it has acknowledged that.
fn group(
    name: &str,
    last_expiry: Option<i64>,
    open: u64,
    acknowledged: Option<i64>,
) -> GroupRecord {
    GroupRecord {
        id: id(name, 1),
        last_expiry: last_expiry.map(at),
        open,
        acknowledged: acknowledged.map(|secs| Acknowledged {
            since: at(0),
            at: at(secs),
        }),
        live: None,
        counted: None,
    }
}
