//! [`RolloutFile`]: the rollout of a service.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use tower_affinity_core::{Revision, Rollout};

use super::error::FileError;
use super::following::{Followed, Reader};
use crate::record::{Input, Recorder};
use crate::rollouts::{Prompted, Rollouts, WeakRollouts};

/// A rollout in a file, as [`Rollout::to_document`] writes it; see the [module](super).
#[derive(Clone, Debug)]
#[must_use]
pub struct RolloutFile(Followed);

impl RolloutFile {
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

    /// Reads the file and follows it, until the last handle of the rollout is dropped.
    ///
    /// # Errors
    ///
    /// If the file does not hold a valid rollout now.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with a timer.
    pub fn follow(self) -> Result<Rollouts, FileError> {
        let content = self.0.read()?;
        let rollout = parse(&content)?;
        let (source, ask, tell) = Prompted::at(rollout.revision());
        let rollouts = Rollouts::with_source(rollout, source);
        let reader = Publisher {
            rollouts: rollouts.downgrade(),
            tell,
        };
        self.0.follow(content, ask, reader);
        Ok(rollouts)
    }
}

fn parse(content: &[u8]) -> Result<Rollout, FileError> {
    let document = serde_json::from_slice(content).map_err(FileError::Form)?;
    Rollout::from_document(&document).map_err(FileError::Rollout)
}

/// Publishes what the file holds.
struct Publisher {
    rollouts: WeakRollouts,
    tell: watch::Sender<Revision>,
}

impl Reader for Publisher {
    const INPUT: Input = Input::Rollout;

    fn take(&mut self, content: &[u8]) -> Result<(), FileError> {
        let next = parse(content)?;
        let Some(rollouts) = self.rollouts.upgrade() else {
            return Ok(());
        };
        if *rollouts.current() == next {
            // written anew, with other white space
            return Ok(());
        }
        let published = rollouts.update(|now| match next.revision() > now.revision() {
            true => Ok(next),
            false => Err(FileError::Revision(next.revision(), now.revision())),
        })?;
        tracing::info!(
            revision = published.revision().0,
            "rollout read from its file"
        );
        Ok(())
    }

    fn looked(&mut self) -> bool {
        let Some(rollouts) = self.rollouts.upgrade() else {
            return false;
        };
        self.tell.send_replace(rollouts.current().revision());
        true
    }
}
