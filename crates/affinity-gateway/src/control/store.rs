//! The state file: the rollout survives a restart.
//!
//! It is replaced as a whole (written beside, synced, renamed), and its checksum is checked when
//! it is read: a file that was cut or changed refuses the start instead of serving half a state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use thiserror::Error;
use tower_affinity::core::{DocumentError, Fact, Rollout};

use super::applied::AppliedGroups;
use super::cookies::CookieUse;
use super::drains::Drains;
use super::expiries::KeptExpiries;
use super::keys::KeyUse;
use super::owner::Owner;
use super::random::replica_name;

/// The version of the file that this release writes and reads.
const VERSION: u32 = 1;

/// A state file that cannot be used. Every message says what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be read or written.
    #[error("the state file {path} cannot be {action}; check its directory and permissions")]
    Io {
        /// Where it is.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why.
        source: io::Error,
    },
    /// It is not what was written.
    #[error(
        "the state file {0} is damaged; restore it from a backup, or move it away to begin with \
         the states and weights of the configuration (aborts in it would be forgotten)"
    )]
    Damaged(PathBuf),
    /// Another process takes it over.
    #[error("another process takes over from this one; repeat it there in a moment")]
    HandedOver,
    /// A later release has written it.
    #[error("the state file {path} has version {version}; run the release that wrote it")]
    Version {
        /// Where it is.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// It holds no valid rollout.
    #[error("the state file {path} holds no valid rollout; restore it from a backup")]
    Rollout {
        /// Where it is.
        path: PathBuf,
        /// Why.
        source: DocumentError,
    },
}

/// Everything that survives a restart.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) rollout: Rollout,
    pub(super) endpoints: BTreeMap<String, Vec<SocketAddr>>,
    /// The endpoints that an operator drains on this replica.
    pub(super) drains: Drains,
    pub(super) applied: AppliedGroups,
    pub(super) keys: BTreeMap<String, KeyUse>,
    pub(super) cookies: CookieUse,
    pub(super) expiries: KeptExpiries,
    /// Aborts that the shared state does not know yet.
    pub(super) facts: Vec<Fact>,
    /// Groups of the configuration that the shared state does not know yet.
    pub(super) new_groups: BTreeSet<String>,
    /// The name of this replica among those that share the state, given to it at its first start.
    pub(super) replica: String,
}

#[derive(Serialize, Deserialize)]
struct Envelope {
    version: u32,
    sha256: String,
    state: Value,
}

#[derive(Serialize, Deserialize)]
struct StateDocument {
    rollout: Value,
    endpoints: BTreeMap<String, Vec<SocketAddr>>,
    /// Absent in files from before it was kept.
    #[serde(default)]
    drains: Drains,
    applied: AppliedGroups,
    keys: BTreeMap<String, KeyUse>,
    cookies: CookieUse,
    /// Absent in files from before it was kept: then any pin may have been issued.
    #[serde(default)]
    expiries: KeptExpiries,
    #[serde(default)]
    facts: Vec<Value>,
    #[serde(default)]
    new_groups: BTreeSet<String>,
    /// Absent in files of a replica that was the only one.
    replica: Option<String>,
}

/// The place of the state file.
#[derive(Clone, Debug)]
pub(super) struct StateFile {
    path: PathBuf,
    owner: Arc<Owner>,
}

impl StateFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            owner: Arc::default(),
        }
    }

    /// The file of another process, which is only read until that one gives it away.
    pub(super) fn of_another(path: PathBuf) -> Self {
        Self {
            path,
            owner: Arc::new(Owner::another()),
        }
    }

    /// Who writes it.
    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// What the file holds; `None` if there is none yet.
    pub(super) fn load(&self) -> Result<Option<Kept>, StoreError> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(self.io("read", source)),
        };
        let damaged = || StoreError::Damaged(self.path.clone());
        let value: Value = serde_json::from_slice(&text).map_err(|_| damaged())?;
        match value.get("version").and_then(Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => {
                let version = u32::try_from(version).unwrap_or(u32::MAX);
                return Err(StoreError::Version {
                    path: self.path.clone(),
                    version,
                });
            }
            None => return Err(damaged()),
        }
        let envelope = Envelope::deserialize(value).map_err(|_| damaged())?;
        if envelope.sha256 != checksum(&envelope.state) {
            return Err(damaged());
        }
        let state = StateDocument::deserialize(envelope.state).map_err(|_| damaged())?;
        let rollout =
            Rollout::from_document(&state.rollout).map_err(|source| StoreError::Rollout {
                path: self.path.clone(),
                source,
            })?;
        let facts = state.facts.iter().map(Fact::from_document);
        let facts = facts.collect::<Result<_, _>>().map_err(|_| damaged())?;
        let replica = match state.replica {
            Some(replica) => replica,
            None => replica_name().map_err(|error| self.io("read", io::Error::other(error)))?,
        };
        Ok(Some(Kept {
            rollout,
            endpoints: state.endpoints,
            drains: state.drains,
            applied: state.applied,
            keys: state.keys,
            cookies: state.cookies,
            expiries: state.expiries,
            facts,
            new_groups: state.new_groups,
            replica,
        }))
    }

    /// Replaces the file. When this returns, the state is on the disk, unless it is not yet this
    /// process's to write.
    pub(super) fn save(&self, kept: &Kept) -> Result<(), StoreError> {
        if self.owner.is_sealed() {
            return Err(StoreError::HandedOver);
        }
        if self.owner.is_another() {
            return Ok(());
        }
        let document = StateDocument {
            rollout: kept.rollout.to_document(),
            endpoints: kept.endpoints.clone(),
            drains: kept.drains.clone(),
            applied: kept.applied.clone(),
            keys: kept.keys.clone(),
            cookies: kept.cookies.clone(),
            expiries: kept.expiries.clone(),
            facts: kept.facts.iter().map(Fact::to_document).collect(),
            new_groups: kept.new_groups.clone(),
            replica: Some(kept.replica.clone()),
        };
        let write = || {
            let state = serde_json::to_value(document)?;
            let envelope = Envelope {
                version: VERSION,
                sha256: checksum(&state),
                state,
            };
            replace(&self.path, &serde_json::to_vec_pretty(&envelope)?)
        };
        write().map_err(|source| self.io("written", source))
    }

    fn io(&self, action: &'static str, source: io::Error) -> StoreError {
        StoreError::Io {
            path: self.path.clone(),
            action,
            source,
        }
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&beside, path)?;
    // the name itself is on the disk only when its directory is
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// Of the state's text with sorted keys, so that white space has no say.
fn checksum(state: &Value) -> String {
    let digest = Sha256::digest(state.to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
