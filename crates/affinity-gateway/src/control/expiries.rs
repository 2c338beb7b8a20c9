//! Until when pins can be valid, over a restart.
//!
//! The file is written with every change and now and then, so what it holds can be too early: only
//! an end in good order leaves it complete.

use serde::{Deserialize, Serialize};
use tower_affinity::Expiries;
use tower_affinity::core::{GroupId, Rollout, Timestamp};

/// The latest expiry of a pin to each group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptExpiries {
    /// Whether no pin was issued since.
    complete: bool,
    latest: Vec<KeptExpiry>,
}

/// Times are milliseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeptExpiry {
    name: String,
    generation: u32,
    expires: u64,
}

impl KeptExpiries {
    /// What is to be kept while pins are issued.
    pub(super) fn so_far(expiries: &Expiries) -> Self {
        Self::of(expiries, false)
    }

    /// What is to be kept once no pin is issued any more.
    pub(super) fn complete(expiries: &Expiries) -> Self {
        Self::of(expiries, true)
    }

    /// Before any pin was issued or seen here.
    pub(super) fn none_yet() -> Self {
        Self {
            complete: true,
            latest: Vec::new(),
        }
    }

    fn of(expiries: &Expiries, complete: bool) -> Self {
        let latest = expiries.all().into_iter().map(|(id, expires)| KeptExpiry {
            name: id.name().to_string(),
            generation: id.generation(),
            expires: expires.as_millis(),
        });
        Self {
            complete,
            latest: latest.collect(),
        }
    }

    /// The expiries after a start. Where some may be lost, each group may have pins that were
    /// issued up to now, and these are valid until `lost_until`.
    pub(super) fn restore(&self, rollout: &Rollout, lost_until: Timestamp) -> Expiries {
        let expiries = Expiries::default();
        for kept in &self.latest {
            // what was kept was a valid name once
            if let Ok(name) = kept.name.parse() {
                let id = GroupId::new(name, kept.generation);
                expiries.note(&id, Timestamp::from_millis(kept.expires));
            }
        }
        if !self.complete {
            for id in rollout.ids() {
                expiries.note(id, lost_until);
            }
        }
        expiries
    }
}
