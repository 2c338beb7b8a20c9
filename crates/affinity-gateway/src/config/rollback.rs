//! `[rollback]`: what an abort does unless it says otherwise.

use std::time::Duration;

use super::section::Section;
use super::span::{Bounds, in_words};

/// What an abort does to sessions and streams unless it says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rollback {
    /// What happens to the sessions.
    pub policy: RollbackPolicy,
    /// The deadline of [`RollbackPolicy::Stay`]; at most `pin.max_age`.
    pub within: Duration,
    /// Within what time open responses and upgraded connections are ended.
    pub streams: Duration,
}

/// What happens to the sessions of an aborted group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RollbackPolicy {
    /// Each moves once, with its next request.
    Move,
    /// They stay until the deadline, then they move.
    Stay,
    /// Each is ended with its next request.
    End,
}

impl RollbackPolicy {
    pub(super) const WORDS: [(&'static str, Self); 3] = [
        ("move", Self::Move),
        ("stay", Self::Stay),
        ("end", Self::End),
    ];
}

pub(super) fn read(rollback: &Section<'_>, max_age: Duration) -> Rollback {
    let policy = rollback
        .field("policy")
        .and_then(|f| f.word(&RollbackPolicy::WORDS));
    let field = rollback.field("within");
    let within = field.as_ref().and_then(|field| field.duration(&WITHIN));
    if let (Some(field), Some(within)) = (&field, within)
        && within > max_age
        && rollback.is_clean()
    {
        let (within, age) = (in_words(within), in_words(max_age));
        field.refuse(format!(
            "rollback.within ({within}) is longer than pin.max_age ({age}); accepted: at most max_age"
        ));
    }
    let streams = rollback
        .field("streams")
        .and_then(|field| field.duration(&STREAMS));
    rollback.finish();
    Rollback {
        policy: policy.unwrap_or(RollbackPolicy::Move),
        within: within.unwrap_or(Duration::from_secs(600).min(max_age)),
        streams: streams.unwrap_or(Duration::from_secs(30)),
    }
}

const WITHIN: Bounds = Bounds::seconds(1, 366 * 86_400);
const STREAMS: Bounds = Bounds::millis(0, 86_400_000);
