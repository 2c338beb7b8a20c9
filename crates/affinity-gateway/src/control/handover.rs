//! The state goes from one process to another.

use std::time::Duration;

use super::error::ControlError;
use super::plane::Control;
use super::store::StoreError;

impl Control {
    /// Keeps the last state of this process, for another one to read. From now on every change is
    /// refused here.
    ///
    /// Blocks while the state file is written.
    pub(crate) fn seal(&self) -> Result<(), StoreError> {
        self.save_so_far()?;
        let _saving = self.saving();
        // a change that was kept between the two is in the file, too
        self.0.file.owner().seal();
        Ok(())
    }

    /// The state is this process's again: nobody has taken over.
    ///
    /// Blocks while the state file is written.
    pub(crate) fn unseal(&self) -> Result<(), StoreError> {
        self.own()
    }

    /// As [`Control::unseal`], without a write: the next change is kept again.
    pub(crate) fn reopen(&self) {
        self.0.file.owner().take();
    }

    /// Takes the state file over from the process that had it.
    ///
    /// Blocks while the state file is written.
    pub(crate) fn own(&self) -> Result<(), StoreError> {
        self.reopen();
        self.save()
    }

    /// Whether another process decides on changes.
    pub(super) fn unless_sealed(&self) -> Result<(), ControlError> {
        match self.0.file.owner().is_sealed() {
            true => Err(StoreError::HandedOver.into()),
            false => Ok(()),
        }
    }

    /// Obeys what the process that has taken over has kept, if it is newer. For the only replica:
    /// others hear of it through what they share.
    ///
    /// Blocks while the state file is read.
    pub(crate) fn obey_successor(&self) {
        let kept = match self.0.file.load() {
            Ok(Some(kept)) => kept,
            Ok(None) => return,
            Err(error) => {
                tracing::debug!(%error, "the state of the process that has taken over is not read");
                return;
            }
        };
        let mut live = self.live();
        let is_newer = kept.rollout.revision() > live.kept.rollout.revision();
        if is_newer || kept.drains != live.kept.drains {
            let rollout = kept.rollout.clone();
            live.kept.endpoints = kept.endpoints;
            live.kept.drains = kept.drains;
            self.accept(&mut live, rollout);
        }
    }
}

/// How often it is looked what the process that has taken over accepts.
pub(crate) const SUCCESSOR: Duration = Duration::from_millis(50);
