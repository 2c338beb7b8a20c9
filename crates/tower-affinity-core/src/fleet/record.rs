//! [`ReplicaRecord`]: what one replica says of itself.

use std::fmt;
use std::str::FromStr;

use super::LiveSketch;
use crate::analysis::StepTally;
use crate::{GroupId, InvalidName, KeyDigest, KeyId, Revision, State, Timestamp};

/// What one replica says of itself, again and again while it lives and once more when it leaves.
///
/// [`ReplicaRecord::to_document`] is its form in an [`Engine`](crate::Engine).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaRecord {
    /// The greatest revision that it has put in force.
    pub revision: Revision,
    /// Its clock, that of its tokens, read *before* all that the record says of its groups: what is
    /// not in the record happened later.
    pub at: Timestamp,
    /// Whether it has left in good order: no request is served any more, so what it says of its
    /// groups is complete.
    pub left: bool,
    /// Where people find its admin side. Peers are told of none that is longer than
    /// [`MAX_ADMIN`] bytes.
    pub admin: Option<String>,
    /// The digest of its configuration.
    pub config: Option<Digest>,
    /// The id of the key that signs its pins.
    pub signing: KeyId,
    /// All keys of its ring.
    pub keys: Vec<KeyDigest>,
    /// What it knows of each group, tombstones included.
    pub groups: Vec<GroupRecord>,
}

/// The greatest length in bytes of the address that a record has for people.
pub const MAX_ADMIN: usize = 256;

/// What a replica says of one group. Its pins are read first, then what is open: a request notes
/// its pin before it is sent on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRecord {
    /// The group.
    pub id: GroupId,
    /// The latest expiry of a pin to it that was issued or obeyed there.
    pub last_expiry: Option<Timestamp>,
    /// Answers and tunnels from it that have not ended.
    pub open: u64,
    /// Since when this replica begins no session there, if it has accepted that none begins.
    pub acknowledged: Option<Acknowledged>,
    /// Its live sessions as this replica saw them.
    pub live: Option<LiveSketch>,
    /// What this replica has counted of it since a step of the rollout.
    pub counted: Option<StepTally>,
}

/// A replica has put in force that a group takes no new sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// Which end it was: the time that the group's state names
    /// ([`State::ended`]). A group can drain, be active and drain again.
    pub since: Timestamp,
    /// When the replica put it in force, by its own clock: no session of its own began later.
    pub at: Timestamp,
}

impl Acknowledged {
    /// What a replica says of a group in the state that it has put in force before `now`, its clock
    /// now. `before` is its record before this one: its own, or what the engine still had of its
    /// name at its start; a replica without one has never served under an older state.
    #[must_use]
    pub fn of(
        id: &GroupId,
        state: &State,
        before: Option<&ReplicaRecord>,
        now: Timestamp,
    ) -> Option<Self> {
        let since = state.ended()?;
        let Some(before) = before else {
            return Some(Self { since, at: since });
        };
        let known = before.group(id).and_then(|group| group.acknowledged);
        Some(match known {
            Some(known) if known.since == since => known,
            _ => Self { since, at: now },
        })
    }
}

impl ReplicaRecord {
    /// What it says of one group.
    #[must_use]
    pub fn group(&self, id: &GroupId) -> Option<&GroupRecord> {
        self.groups.iter().find(|group| group.id == *id)
    }

    /// The digest of its key of that id.
    #[must_use]
    pub fn key(&self, id: &KeyId) -> Option<&Digest> {
        let key = self.keys.iter().find(|key| key.id == *id);
        key.map(|key| &key.digest)
    }
}

/// A digest as text: 8 to 64 of `0-9 a-f`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(String);

impl Digest {
    /// The digest of these bytes, of which the first 32 count.
    #[must_use]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let hex = bytes.iter().take(32).map(|byte| format!("{byte:02x}"));
        Self(hex.collect())
    }

    /// The digest as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Digest {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let inner = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if !(8..=64).contains(&text.len()) || !text.bytes().all(inner) {
            return Err(InvalidName::new("digest", "8 to 64 of 0-9 a-f"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
