//! The rollout as one JSON document, for a state file or a shared engine.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Rollout, RolloutError, Tombstone};
use crate::{Abort, AbortPolicy, Group, GroupId, GroupName, Revision, State, Timestamp, Weight};

/// The version of the document that this release writes and reads.
const VERSION: u32 = 1;

/// A document that is no valid rollout.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// It is not JSON of the expected form.
    #[error("the rollout document cannot be read")]
    Form(#[source] serde_json::Error),
    /// A later release has written it.
    #[error("the rollout document has version {0}; this release reads version {VERSION}")]
    Version(u32),
    /// A name or a number in it is not valid.
    #[error("the rollout document holds an invalid {0}")]
    Value(&'static str),
    /// Its groups are no valid rollout.
    #[error("the rollout document breaks a rule")]
    Invalid(#[source] RolloutError),
}

#[derive(Serialize, Deserialize)]
struct VersionOnly {
    version: u32,
}

#[derive(Serialize, Deserialize)]
struct Document {
    version: u32,
    revision: u64,
    step_revision: u64,
    draw_revision: u64,
    stable: String,
    former: Vec<String>,
    groups: Vec<GroupDocument>,
    tombstones: Vec<TombstoneDocument>,
    /// Absent in documents from before there was a lock.
    #[serde(default)]
    locked: bool,
}

#[derive(Serialize, Deserialize)]
struct GroupDocument {
    name: String,
    generation: u32,
    weight: u64,
    /// Absent where there is none, as in documents from before there was the declaration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    compatible_with: Vec<String>,
    #[serde(flatten)]
    state: StateDocument,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
enum StateDocument {
    Staged,
    Active,
    Draining { since: u64 },
    Aborted(AbortDocument),
    Retired { at: u64 },
}

#[derive(Serialize, Deserialize)]
pub(crate) struct AbortDocument {
    target: String,
    target_generation: u32,
    policy: PolicyDocument,
    at: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PolicyDocument {
    Move,
    Stay { until: u64 },
    End,
}

#[derive(Serialize, Deserialize)]
struct TombstoneDocument {
    name: String,
    generation: u32,
    aborted: Option<AbortDocument>,
    until: u64,
}

impl Rollout {
    /// The rollout as a JSON document; times are milliseconds since the Unix epoch.
    #[must_use]
    pub fn to_document(&self) -> serde_json::Value {
        let document = Document {
            version: VERSION,
            revision: self.revision.0,
            step_revision: self.step_revision.0,
            draw_revision: self.draw_revision.0,
            stable: self.stable.to_string(),
            former: names(&self.former),
            groups: self.groups.iter().map(GroupDocument::from).collect(),
            tombstones: self
                .tombstones
                .iter()
                .map(TombstoneDocument::from)
                .collect(),
            locked: self.locked,
        };
        // a struct of strings and numbers has no map key that could fail
        serde_json::to_value(document).unwrap_or_default()
    }

    /// Reads a document that [`Rollout::to_document`] has written.
    ///
    /// # Errors
    ///
    /// If it has another form or version, or is no valid rollout.
    pub fn from_document(document: &serde_json::Value) -> Result<Self, DocumentError> {
        let VersionOnly { version } =
            VersionOnly::deserialize(document).map_err(DocumentError::Form)?;
        if version != VERSION {
            return Err(DocumentError::Version(version));
        }
        let document = Document::deserialize(document).map_err(DocumentError::Form)?;
        let rollout = Self {
            revision: Revision(document.revision),
            step_revision: Revision(document.step_revision),
            draw_revision: Revision(document.draw_revision),
            stable: name(&document.stable)?,
            former: parsed(&document.former)?,
            groups: document
                .groups
                .into_iter()
                .map(Group::try_from)
                .collect::<Result<_, _>>()?,
            tombstones: document
                .tombstones
                .into_iter()
                .map(Tombstone::try_from)
                .collect::<Result<_, _>>()?,
            locked: document.locked,
        };
        rollout.check().map_err(DocumentError::Invalid)?;
        Ok(rollout)
    }
}

fn name(text: &str) -> Result<GroupName, DocumentError> {
    text.parse().map_err(|_| DocumentError::Value("group name"))
}

fn parsed(texts: &[String]) -> Result<Vec<GroupName>, DocumentError> {
    texts.iter().map(|text| name(text)).collect()
}

fn names(names: &[GroupName]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

impl From<&Group> for GroupDocument {
    fn from(group: &Group) -> Self {
        Self {
            name: group.name().to_string(),
            generation: group.id.generation(),
            weight: group.weight.get().into(),
            compatible_with: names(&group.compatible_with),
            state: match &group.state {
                State::Staged => StateDocument::Staged,
                State::Active => StateDocument::Active,
                State::Draining { since } => StateDocument::Draining {
                    since: since.as_millis(),
                },
                State::Aborted(abort) => StateDocument::Aborted(abort.into()),
                State::Retired { at } => StateDocument::Retired { at: at.as_millis() },
            },
        }
    }
}

impl TryFrom<GroupDocument> for Group {
    type Error = DocumentError;

    fn try_from(group: GroupDocument) -> Result<Self, DocumentError> {
        Ok(Self {
            id: GroupId::new(name(&group.name)?, group.generation),
            weight: Weight::new(group.weight).map_err(|_| DocumentError::Value("weight"))?,
            compatible_with: parsed(&group.compatible_with)?,
            state: match group.state {
                StateDocument::Staged => State::Staged,
                StateDocument::Active => State::Active,
                StateDocument::Draining { since } => State::Draining {
                    since: Timestamp::from_millis(since),
                },
                StateDocument::Aborted(abort) => State::Aborted(abort.try_into()?),
                StateDocument::Retired { at } => State::Retired {
                    at: Timestamp::from_millis(at),
                },
            },
        })
    }
}

impl From<&Abort> for AbortDocument {
    fn from(abort: &Abort) -> Self {
        Self {
            target: abort.target.name().to_string(),
            target_generation: abort.target.generation(),
            policy: match abort.policy {
                AbortPolicy::Move => PolicyDocument::Move,
                AbortPolicy::Stay { until } => PolicyDocument::Stay {
                    until: until.as_millis(),
                },
                AbortPolicy::End => PolicyDocument::End,
            },
            at: abort.at.as_millis(),
        }
    }
}

impl TryFrom<AbortDocument> for Abort {
    type Error = DocumentError;

    fn try_from(abort: AbortDocument) -> Result<Self, DocumentError> {
        Ok(Self {
            target: GroupId::new(name(&abort.target)?, abort.target_generation),
            policy: match abort.policy {
                PolicyDocument::Move => AbortPolicy::Move,
                PolicyDocument::Stay { until } => AbortPolicy::Stay {
                    until: Timestamp::from_millis(until),
                },
                PolicyDocument::End => AbortPolicy::End,
            },
            at: Timestamp::from_millis(abort.at),
        })
    }
}

impl From<&Tombstone> for TombstoneDocument {
    fn from(tombstone: &Tombstone) -> Self {
        Self {
            name: tombstone.id.name().to_string(),
            generation: tombstone.id.generation(),
            aborted: tombstone.aborted.as_ref().map(AbortDocument::from),
            until: tombstone.until.as_millis(),
        }
    }
}

impl TryFrom<TombstoneDocument> for Tombstone {
    type Error = DocumentError;

    fn try_from(tombstone: TombstoneDocument) -> Result<Self, DocumentError> {
        Ok(Self {
            id: GroupId::new(name(&tombstone.name)?, tombstone.generation),
            aborted: tombstone.aborted.map(Abort::try_from).transpose()?,
            until: Timestamp::from_millis(tombstone.until),
        })
    }
}
