//! Why a file is refused.

use std::io;
use std::mem::{Discriminant, discriminant};

use thiserror::Error;
use tower_affinity_core::{DocumentError, InvalidName, Revision};

use super::following::MAX_BYTES;

/// A file that is refused: what was there before stays.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read.
    #[error("the file cannot be read")]
    Read(#[source] io::Error),
    /// It is longer than any that is meant.
    #[error("the file is longer than {MAX_BYTES} bytes")]
    Size,
    /// It is not JSON of the expected form.
    #[error("the file is not JSON of the expected form")]
    Form(#[source] serde_json::Error),
    /// It holds no valid rollout.
    #[error("the file holds no valid rollout")]
    Rollout(#[source] DocumentError),
    /// Its revision is not above the present one, but what it says is different.
    #[error("the revision {0} of the file is not above the present {1}")]
    Revision(Revision, Revision),
    /// It names a group by what is no group's name.
    #[error("the group {0:?} cannot be used")]
    Group(String, #[source] InvalidName),
}

impl FileError {
    /// What tells one failure to read the file from another.
    pub(super) fn kind(&self) -> (Discriminant<Self>, Option<io::ErrorKind>) {
        let io = match self {
            Self::Read(error) => Some(error.kind()),
            _ => None,
        };
        (discriminant(self), io)
    }
}
