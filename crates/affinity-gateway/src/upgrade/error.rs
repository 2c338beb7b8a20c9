//! [`UpgradeError`]: why no process took over.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

/// Why a process could not take over from another. That one goes on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UpgradeError {
    /// No gateway runs that has this state file.
    #[error("no gateway to take over from is found at {0}; start without --upgrade")]
    Nobody(PathBuf, #[source] io::Error),
    /// The other side went away, or the system failed.
    #[error("the other process is gone")]
    Gone(#[from] io::Error),
    /// It took longer than either side waits.
    #[error("the upgrade took longer than 30 s")]
    Late,
    /// The other side connected and did not say who it is.
    #[error("the other process did not say who it is within 3 s")]
    Silent,
    /// The other side belongs to another user.
    #[error("the other process runs as user {0}")]
    User(u32),
    /// The other side said something that is not understood, as another version may.
    #[error("the other process says {said:?} instead of {expected:?}")]
    Word {
        /// What is understood.
        expected: &'static str,
        /// What came.
        said: String,
    },
    /// Sockets came that are not those which this release serves.
    #[error(
        "the other process hands over {0}; one socket for clients and one for the admin side are needed"
    )]
    Sockets(String),
    /// A socket is not where the configuration says.
    #[error("{key} is {wanted}, and the running gateway listens on {found}; that needs a restart")]
    Address {
        /// The setting.
        key: &'static str,
        /// What it says.
        wanted: SocketAddr,
        /// Where the socket is.
        found: SocketAddr,
    },
    /// It never became ready.
    #[error("not ready to take over: {0}")]
    Unready(String),
    /// The state could not be sealed.
    #[error("the state cannot be handed over")]
    State(#[source] crate::control::StoreError),
}
