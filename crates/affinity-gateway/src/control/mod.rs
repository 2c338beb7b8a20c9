//! The control plane: the one place where the rollout changes.
//!
//! `verb` names the changes, `edit` turns an edited file into one change (`apply`), `change` runs
//! changes one after another: decided on the present snapshot, kept in the state file (`store`),
//! and only then published to the data plane (`plane`). `preview` decides one
//! and does nothing of it. Where replicas share their state, `shared`
//! keeps it there instead.

mod applied;
mod apply;
mod change;
mod cookies;
mod digest;
mod discovered;
mod drained;
mod drains;
mod edit;
mod error;
mod expiries;
mod first;
mod handover;
mod keys;
mod live;
mod owner;
mod peers;
mod plane;
mod preview;
mod publish;
mod random;
mod record;
mod shared;
mod sources;
mod store;
mod terms;
#[cfg(test)]
mod tests;
mod told;
mod verb;

pub use self::change::{Changed, Held};
pub use self::drains::{Marked, Wish};
pub use self::error::{ControlError, EditError};
pub(crate) use self::first::first_rollout;
pub(crate) use self::peers::LAPSE;
pub use self::plane::{Control, Start};
pub use self::preview::{Fate, Leaving, Preview};
pub(crate) use self::shared::Member;
pub use self::shared::SharedTrouble;
pub(crate) use self::sources::Failure;
pub use self::store::StoreError;
pub(crate) use self::terms::deadline;
pub use self::verb::{Request, Verb};
pub(crate) use handover::SUCCESSOR;
