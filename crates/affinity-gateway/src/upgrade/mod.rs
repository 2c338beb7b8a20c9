//! A new process takes over from a running one, which loses nothing by it.
//!
//! ```text
//!  new                                  old
//!  hello, version ───────────────────>  same user? same version?
//!             <───────────────────────  sockets (SCM_RIGHTS)
//!  seal       ───────────────────────>  keeps its last state, refuses changes
//!             <───────────────────────  sealed
//!  reads the state, checks endpoints
//!  ready      ───────────────────────>
//!             <───────────────────────  yours: the state file has a new owner
//!  accepts
//!  serving    ───────────────────────>  accepts no more, drains, ends
//! ```
//!
//! Both listen on the same sockets, so nobody is refused meanwhile. If anything fails before the
//! last word, the old process goes on as if nothing had happened.

mod channel;
mod error;
mod offer;
mod takeover;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use self::{
    offer::{Offer, Offered},
    takeover::{Sockets, Takeover, fits},
};
pub use error::UpgradeError;

/// The first word: what this is, and the version of the words that follow.
const HELLO: &str = "commit-affinity-upgrade 1";
/// The sockets, by the names of their places.
const SOCKETS: &str = "sockets";
const SEAL: &str = "seal";
const SEALED: &str = "sealed";
const READY: &str = "ready";
const YOURS: &str = "yours";
const SERVING: &str = "serving";

/// How long a new process may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Clients are served here; there may be several.
    Data,
    /// The admin side.
    Admin,
}

impl Place {
    fn word(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Admin => "admin",
        }
    }

    fn of(word: &str) -> Option<Self> {
        let mut all = [Self::Data, Self::Admin].into_iter();
        all.find(|place| place.word() == word)
    }
}

/// Where a running gateway listens for the one that takes over: beside its state file.
fn path(state: &Path) -> PathBuf {
    let mut path = state.as_os_str().to_owned();
    path.push(".upgrade.sock");
    path.into()
}
