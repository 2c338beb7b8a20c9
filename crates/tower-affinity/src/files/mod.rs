//! The rollout and the list of peers at run time, from files that are followed.
//!
//! A service without a gateway has its rollout from somewhere: a file that an operator, a deploy
//! script or a mounted volume replaces is the simplest. [`RolloutFile`] holds a rollout as
//! [`Rollout::to_document`] writes it; [`PeersFile`] holds the addresses of all groups. Both are looked
//! at every second, by their content, so that it does not matter how they are replaced: by a rename,
//! a link, or in place.
//!
//! A file counts whole or not at all. One that cannot be read or understood, or whose revision is not
//! above the present one, changes nothing: it is logged once, counted
//! (`affinity_inputs_rejected_total`), and the last good state stays. A pin above the present revision
//! has the file read at once, and a request whose group only that state can know waits for it up to
//! 100 ms; the revision is never raised by a pin, since the file would be below it then.
//!
//! Following ends with the last handle of what is fed.
//!
//! ```no_run
//! use tower_affinity::files::{PeersFile, RolloutFile};
//! use tower_affinity::{AffinityLayer, Groups, Keyring};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let peers = Groups::default();
//! PeersFile::new("/etc/checkout/peers.json").follow(&peers)?; // {"9f1c2ab": ["10.0.0.7:3000"], …}
//! let affinity = AffinityLayer::builder()
//!     .keyring(Keyring::from_env("AFFINITY_KEYS")?)
//!     .service("checkout")
//!     .rollout(RolloutFile::new("/etc/checkout/rollout.json").follow()?)
//!     .serving("9f1c2ab".parse()?)
//!     .build()?;
//! # let _ = affinity; Ok(()) }
//! ```
//!
//! Customised: looked at more often, and counted by a recorder of one's own.
//!
//! ```no_run
//! use std::time::Duration;
//! use tower_affinity::files::RolloutFile;
//! use tower_affinity::record::Recorder;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rollouts = RolloutFile::new("rollout.json")
//!     .every(Duration::from_millis(200))
//!     .recorder(Recorder::default())
//!     .follow()?;
//! # let _ = rollouts; Ok(()) }
//! ```
//!
//! [`Rollout::to_document`]: crate::core::Rollout::to_document

mod error;
mod following;
mod peers;
mod rollout;

pub use self::error::FileError;
pub use self::peers::PeersFile;
pub use self::rollout::RolloutFile;
