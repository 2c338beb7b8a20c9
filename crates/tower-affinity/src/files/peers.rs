//! [`PeersFile`]: the addresses of all groups.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tower_affinity_core::GroupName;

use super::error::FileError;
use super::following::{Followed, Reader};
use crate::balance::{Groups, WeakGroups};
use crate::record::{Input, Recorder};

/// The addresses of all groups in a file, `{"GROUP": ["ADDRESS:PORT", …], …}`; see the
/// [module](super).
///
/// An empty list is held back, and a group that the file does not name keeps what it has: a list that
/// is being written, or was lost, empties no group. Addresses where nobody answers are left by
/// themselves.
#[derive(Clone, Debug)]
#[must_use]
pub struct PeersFile(Followed);

impl PeersFile {
    /// The file at that path, looked at every second.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(Followed::new(path.into()))
    }

    /// How often it is looked at; by default every second.
    pub fn every(mut self, every: Duration) -> Self {
        self.0.every = every;
        self
    }

    /// What counts content that is refused.
    pub fn recorder(mut self, recorder: Recorder) -> Self {
        self.0.recorder = recorder;
        self
    }

    /// Reads the file into `groups` and follows it, until the last handle of these is dropped.
    ///
    /// # Errors
    ///
    /// If the file does not hold such lists now; then nothing is followed.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with a timer.
    pub fn follow(self, groups: &Groups) -> Result<(), FileError> {
        let content = self.0.read()?;
        let mut reader = Feeder(groups.downgrade());
        reader.take(&content)?;
        self.0.follow(content, Arc::new(Notify::new()), reader);
        Ok(())
    }
}

/// Feeds groups with what the file holds.
struct Feeder(WeakGroups);

impl Reader for Feeder {
    const INPUT: Input = Input::Peers;

    fn take(&mut self, content: &[u8]) -> Result<(), FileError> {
        let lists: BTreeMap<String, Vec<SocketAddr>> =
            serde_json::from_slice(content).map_err(FileError::Form)?;
        // all names before the first list, so that the file counts whole
        let lists: Vec<(GroupName, Vec<SocketAddr>)> = lists
            .into_iter()
            .map(|(name, list)| match name.parse() {
                Ok(group) => Ok((group, list)),
                Err(invalid) => Err(FileError::Group(name.chars().take(64).collect(), invalid)),
            })
            .collect::<Result<_, _>>()?;
        if let Some(groups) = self.0.upgrade() {
            for (group, list) in lists {
                groups.update(&group, list);
            }
        }
        Ok(())
    }

    fn looked(&mut self) -> bool {
        self.0.upgrade().is_some()
    }
}
