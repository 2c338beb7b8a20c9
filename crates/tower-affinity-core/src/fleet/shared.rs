//! [`SharedState`]: the document that all replicas of a service share.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::{DocumentError, GroupName, Rollout, ServiceName};

/// The version of the document that this release writes and reads.
const VERSION: u64 = 1;

/// The longest document that is read: 1 MiB, below what engines take.
const MAX_BYTES: usize = 1 << 20;

/// What all replicas of a service share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedState {
    /// The state of all groups.
    pub rollout: Rollout,
    /// The endpoints that groups were registered with; a replica's own configuration goes first.
    pub endpoints: BTreeMap<GroupName, Vec<SocketAddr>>,
    /// A random number of the write, by which its writer knows it again.
    pub write: u64,
}

/// A shared document that is refused: the last good state stays.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SharedError {
    /// It is longer than any that we write.
    #[error("the shared document has {0} bytes; at most {MAX_BYTES} are read")]
    Size(usize),
    /// It is not JSON of the expected form.
    #[error("the shared document cannot be read")]
    Form(#[source] serde_json::Error),
    /// It is not what was written.
    #[error("the shared document was changed by another hand or is damaged")]
    Damaged,
    /// A later release has written it.
    #[error("the shared document has version {0}; this release reads version {VERSION}")]
    Version(u64),
    /// It belongs to another service.
    #[error("the shared document is of service {0:?}; give each service a prefix of its own")]
    Service(String),
    /// Its rollout is none.
    #[error("the shared document holds no valid rollout")]
    Rollout(#[source] DocumentError),
}

/// What is stored: a state with the checksum of its text.
#[derive(Serialize, Deserialize)]
struct Envelope {
    version: u64,
    sha256: String,
    state: Value,
}

#[derive(Serialize, Deserialize)]
struct SharedDocument {
    service: String,
    write: u64,
    rollout: Value,
    endpoints: BTreeMap<String, Vec<SocketAddr>>,
}

impl SharedState {
    /// The text that an engine keeps.
    #[must_use]
    pub fn to_document(&self, service: &ServiceName) -> String {
        let endpoints = self.endpoints.iter();
        let document = SharedDocument {
            service: service.to_string(),
            write: self.write,
            rollout: self.rollout.to_document(),
            endpoints: endpoints
                .map(|(group, addresses)| (group.to_string(), addresses.clone()))
                .collect(),
        };
        // every key of its maps is a string, so nothing in it can fail
        let state = serde_json::to_value(document).unwrap_or_default();
        let envelope = Envelope {
            version: VERSION,
            sha256: checksum(&state),
            state,
        };
        serde_json::to_string(&envelope).unwrap_or_default()
    }

    /// Reads a text that an engine has kept for `service`.
    ///
    /// # Errors
    ///
    /// If it is no document of this form and version, or another service's.
    pub fn from_document(text: &str, service: &ServiceName) -> Result<Self, SharedError> {
        if text.len() > MAX_BYTES {
            return Err(SharedError::Size(text.len()));
        }
        let value: Value = serde_json::from_str(text).map_err(SharedError::Form)?;
        if let Some(version) = value.get("version").and_then(Value::as_u64)
            && version != VERSION
        {
            return Err(SharedError::Version(version));
        }
        let Envelope { sha256, state, .. } =
            Envelope::deserialize(value).map_err(SharedError::Form)?;
        if sha256 != checksum(&state) {
            return Err(SharedError::Damaged);
        }
        let document = SharedDocument::deserialize(state).map_err(SharedError::Form)?;
        if document.service != service.as_str() {
            let said = document.service.chars().take(64).collect();
            return Err(SharedError::Service(said));
        }
        let rollout = Rollout::from_document(&document.rollout).map_err(SharedError::Rollout)?;
        let endpoints = document.endpoints.into_iter().map(|(group, addresses)| {
            let group = group.parse();
            let group = group.map_err(|_| DocumentError::Value("group name"));
            Ok((group.map_err(SharedError::Rollout)?, addresses))
        });
        Ok(Self {
            rollout,
            endpoints: endpoints.collect::<Result<_, SharedError>>()?,
            write: document.write,
        })
    }
}

/// Of the state's text with sorted keys, so that white space has no say.
fn checksum(state: &Value) -> String {
    let digest = Sha256::digest(state.to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
