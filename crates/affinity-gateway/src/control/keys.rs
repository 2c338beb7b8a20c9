//! Which key may leave the ring: one that signs or has signed lately may not.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tower_affinity::core::Timestamp;

use crate::config::PinSettings;

/// What is known about the use of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeyUse {
    /// It has never signed here.
    VerifiesOnly,
    /// It signs.
    Signs,
    /// It signed until then (milliseconds since the Unix epoch).
    SignedUntil(u64),
}

/// The use of all keys of a new ring, given that of the old one.
///
/// `Err` names a key that left too early, and when it may leave.
pub(super) fn rotated(
    old: &BTreeMap<String, KeyUse>,
    pin: &PinSettings,
    now: Timestamp,
) -> Result<BTreeMap<String, KeyUse>, (String, Option<Timestamp>)> {
    let max_age: Duration = pin.lifetimes.max_age();
    for (id, usage) in old {
        let kept = pin.keys.iter().any(|key| key.id.as_str() == id);
        if kept || pin.drop_early.iter().any(|early| early.as_str() == id) {
            continue;
        }
        match usage {
            KeyUse::VerifiesOnly => {}
            KeyUse::Signs => return Err((id.clone(), None)),
            KeyUse::SignedUntil(until) => {
                let free = Timestamp::from_millis(*until).plus(max_age);
                if now < free {
                    return Err((id.clone(), Some(free)));
                }
            }
        }
    }
    let usage = pin.keys.iter().enumerate().map(|(at, key)| {
        let id = key.id.as_str().to_owned();
        let usage = match (at, old.get(&id)) {
            (0, _) => KeyUse::Signs,
            (_, Some(KeyUse::Signs)) => KeyUse::SignedUntil(now.as_millis()),
            (_, Some(usage)) => *usage,
            (_, None) => KeyUse::VerifiesOnly,
        };
        (id, usage)
    });
    Ok(usage.collect())
}
