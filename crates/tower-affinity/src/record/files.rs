//! What is counted of files that are followed.

use metrics::Label;

use super::names;
use super::recorder::Recorder;

/// A file that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchedFile {
    /// That of the rollout.
    Rollout,
    /// That of the peers' addresses.
    Peers,
}

impl WatchedFile {
    /// The word in logs and labels.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Rollout => "rollout",
            Self::Peers => "peers",
        }
    }
}

impl Recorder {
    /// New content of a file was refused.
    pub(crate) fn file_rejected(&self, file: WatchedFile) {
        let file = Label::from_static_parts("file", file.as_str());
        self.source().count(names::FILES_REJECTED, vec![file], 1);
    }
}
