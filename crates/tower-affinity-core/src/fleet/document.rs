//! The record of a replica as one JSON document, for a shared engine.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Acknowledged, GroupRecord, LiveSketch, MAX_ADMIN, ReplicaRecord, Sketch};
use crate::analysis::{StepTally, Tally};
use crate::{GroupId, KeyDigest, Revision, Timestamp};

/// The version of the document that this release writes and reads.
const VERSION: u32 = 1;

/// A document that is no record of a replica.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It is not JSON of the expected form.
    #[error("the record cannot be read")]
    Form(#[source] serde_json::Error),
    /// A later release has written it.
    #[error("the record has version {0}; this release reads version {VERSION}")]
    Version(u32),
    /// A name or a number in it is not valid.
    #[error("the record holds an invalid {0}")]
    Value(&'static str),
}

#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

/// Times are milliseconds since the Unix epoch.
#[derive(Serialize, Deserialize)]
struct Document {
    version: u32,
    revision: u64,
    at: u64,
    left: bool,
    admin: Option<String>,
    config: Option<String>,
    signing: String,
    keys: Vec<KeyDocument>,
    groups: Vec<GroupDocument>,
}

#[derive(Serialize, Deserialize)]
struct KeyDocument {
    id: String,
    digest: String,
}

#[derive(Serialize, Deserialize)]
struct GroupDocument {
    name: String,
    generation: u32,
    last_expiry: Option<u64>,
    open: u64,
    acknowledged: Option<AcknowledgedDocument>,
    live: Option<String>,
    /// Not in the records of the first releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<String>,
    /// Not in the records of the first releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<CountedDocument>,
}

#[derive(Serialize, Deserialize)]
struct CountedDocument {
    step: u64,
    since: u64,
    sessions: u64,
    failed: u64,
    completed: u64,
    slow: u64,
    requests: u64,
    failed_requests: u64,
}

#[derive(Serialize, Deserialize)]
struct AcknowledgedDocument {
    since: u64,
    at: u64,
}

impl ReplicaRecord {
    /// The record as a JSON document.
    #[must_use]
    pub fn to_document(&self) -> serde_json::Value {
        let document = Document {
            version: VERSION,
            revision: self.revision.0,
            at: self.at.as_millis(),
            left: self.left,
            admin: self.admin.clone().filter(|admin| is_shown(admin)),
            config: self.config.as_ref().map(ToString::to_string),
            signing: self.signing.to_string(),
            keys: self.keys.iter().map(KeyDocument::from).collect(),
            groups: self.groups.iter().map(GroupDocument::from).collect(),
        };
        // a struct of strings and numbers has no map key that could fail
        serde_json::to_value(document).unwrap_or_default()
    }

    /// Reads a document that [`ReplicaRecord::to_document`] has written.
    ///
    /// # Errors
    ///
    /// If it has another form or version, or holds what is no name or number of ours.
    pub fn from_document(document: &serde_json::Value) -> Result<Self, RecordError> {
        let VersionOnly { version } =
            VersionOnly::deserialize(document).map_err(RecordError::Form)?;
        if version != VERSION {
            return Err(RecordError::Version(version));
        }
        let document = Document::deserialize(document).map_err(RecordError::Form)?;
        if document
            .admin
            .as_deref()
            .is_some_and(|admin| !is_shown(admin))
        {
            return Err(RecordError::Value("admin address"));
        }
        let record = Self {
            revision: Revision(document.revision),
            at: Timestamp::from_millis(document.at),
            left: document.left,
            admin: document.admin,
            config: document.config.as_deref().map(digest).transpose()?,
            signing: key_id(&document.signing)?,
            keys: document
                .keys
                .iter()
                .map(KeyDigest::try_from)
                .collect::<Result<_, _>>()?,
            groups: document
                .groups
                .into_iter()
                .map(GroupRecord::try_from)
                .collect::<Result<_, _>>()?,
        };
        if has_twins(record.keys.iter().map(|key| &key.id)) {
            return Err(RecordError::Value("key, which is there twice"));
        }
        if has_twins(record.groups.iter().map(|group| &group.id)) {
            return Err(RecordError::Value("group, which is there twice"));
        }
        Ok(record)
    }
}

/// Whether an address is one that people are shown.
fn is_shown(admin: &str) -> bool {
    admin.len() <= MAX_ADMIN && !admin.chars().any(char::is_control)
}

fn has_twins<T: Ord>(items: impl Iterator<Item = T>) -> bool {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    let all = items.len();
    items.dedup();
    items.len() < all
}

fn digest(text: &str) -> Result<super::Digest, RecordError> {
    text.parse().map_err(|_| RecordError::Value("digest"))
}

fn key_id(text: &str) -> Result<crate::KeyId, RecordError> {
    text.parse().map_err(|_| RecordError::Value("key id"))
}

impl From<&KeyDigest> for KeyDocument {
    fn from(key: &KeyDigest) -> Self {
        Self {
            id: key.id.to_string(),
            digest: key.digest.to_string(),
        }
    }
}

impl TryFrom<&KeyDocument> for KeyDigest {
    type Error = RecordError;

    fn try_from(key: &KeyDocument) -> Result<Self, RecordError> {
        Ok(Self {
            id: key_id(&key.id)?,
            digest: digest(&key.digest)?,
        })
    }
}

impl From<&GroupRecord> for GroupDocument {
    fn from(group: &GroupRecord) -> Self {
        Self {
            name: group.id.name().to_string(),
            generation: group.id.generation(),
            last_expiry: group.last_expiry.map(Timestamp::as_millis),
            open: group.open,
            acknowledged: group.acknowledged.map(|known| AcknowledgedDocument {
                since: known.since.as_millis(),
                at: known.at.as_millis(),
            }),
            live: group.live.as_ref().map(|live| live.seen.to_text()),
            left: group.live.as_ref().and_then(|live| {
                let any = live.left != Sketch::default();
                any.then(|| live.left.to_text())
            }),
            counted: group.counted.map(CountedDocument::from),
        }
    }
}

impl TryFrom<GroupDocument> for GroupRecord {
    type Error = RecordError;

    fn try_from(group: GroupDocument) -> Result<Self, RecordError> {
        let name = group.name.parse();
        let name = name.map_err(|_| RecordError::Value("group name"))?;
        let sketch = |text: &Option<String>| {
            let sketch = text.as_deref().map(|text| {
                Sketch::from_text(text).ok_or(RecordError::Value("sketch of live sessions"))
            });
            sketch.transpose()
        };
        let (seen, left) = (sketch(&group.live)?, sketch(&group.left)?);
        let left = left.unwrap_or_default();
        Ok(Self {
            id: GroupId::new(name, group.generation),
            last_expiry: group.last_expiry.map(Timestamp::from_millis),
            open: group.open,
            acknowledged: group.acknowledged.map(|known| Acknowledged {
                since: Timestamp::from_millis(known.since),
                at: Timestamp::from_millis(known.at),
            }),
            live: seen.map(|seen| LiveSketch { seen, left }),
            counted: group.counted.map(StepTally::from),
        })
    }
}

impl From<StepTally> for CountedDocument {
    fn from(counted: StepTally) -> Self {
        let Tally {
            sessions,
            failed,
            completed,
            slow,
            requests,
            failed_requests,
        } = counted.tally;
        Self {
            step: counted.step.0,
            since: counted.since.as_millis(),
            sessions,
            failed,
            completed,
            slow,
            requests,
            failed_requests,
        }
    }
}

impl From<CountedDocument> for StepTally {
    fn from(document: CountedDocument) -> Self {
        Self {
            step: Revision(document.step),
            since: Timestamp::from_millis(document.since),
            tally: Tally {
                sessions: document.sessions,
                failed: document.failed,
                completed: document.completed,
                slow: document.slow,
                requests: document.requests,
                failed_requests: document.failed_requests,
            },
        }
    }
}
