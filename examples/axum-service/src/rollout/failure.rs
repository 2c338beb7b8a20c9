//! Why a verb was not done, and its exit code.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use serde_json::json;
use thiserror::Error;
use tower_affinity::core::{DocumentError, GroupName, Refusal, RolloutError};

use super::file::MAX_BYTES;

/// A verb that was not done. The file is as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Failure {
    /// A rule of the rollout forbids it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A rollout is begun only once: its revisions would start again.
    #[error("{0:?} is there already; change it by the other verbs, or delete it first")]
    Present(PathBuf),
    /// What is to be written down first is no rollout.
    #[error("the groups do not make a rollout")]
    Groups(#[source] RolloutError),
    /// Two weights for one group.
    #[error("{0} is given twice")]
    Twice(GroupName),
    /// A time to stay was given, but nobody stays.
    #[error("--within is for --policy stay")]
    Within,
    /// There is no file.
    #[error("there is no {0:?}; `init` makes it")]
    Missing(PathBuf),
    /// The file cannot be read or written.
    #[error("cannot {verb} {path:?}")]
    Access {
        /// What was tried.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A follower would not read so much.
    #[error("{0:?} would be or is longer than {MAX_BYTES} bytes, which nobody reads")]
    Size(PathBuf),
    /// The file holds no JSON.
    #[error("{0:?} is damaged; bring a good copy back, this tool does not touch it")]
    Json(PathBuf, #[source] serde_json::Error),
    /// The file holds no valid rollout.
    #[error("{0:?} is damaged; bring a good copy back, this tool does not touch it")]
    Document(PathBuf, #[source] DocumentError),
    /// Somebody else changes the file.
    #[error("{0:?} is being changed by another process, which holds its .lock; try again")]
    Busy(PathBuf),
    /// No greater revision can be written down.
    #[error("the revision {0} is the last one that there is")]
    Revision(u64),
}

impl Failure {
    /// 1: it went wrong; 2: the command line is wrong; 4: a rule forbids it.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(_) | Self::Present(_) => 4,
            Self::Groups(_) | Self::Twice(_) | Self::Within => 2,
            _ => 1,
        }
    }

    /// What is written to stderr: one line, or JSON for machines.
    #[must_use]
    pub fn told(&self, as_json: bool) -> String {
        let mut detail = self.to_string();
        let mut cause = self.source();
        while let Some(inner) = cause {
            detail.push_str(&format!(": {inner}"));
            cause = inner.source();
        }
        if !as_json {
            return format!("rollout: {detail}");
        }
        let kind = match self.exit_code() {
            4 => "refused",
            2 => "usage",
            _ => "failed",
        };
        let can_be_forced = matches!(self, Self::Refused(refusal) if refusal.can_be_forced());
        json!({ "error": { "type": kind, "detail": detail, "can_be_forced": can_be_forced } })
            .to_string()
    }
}
