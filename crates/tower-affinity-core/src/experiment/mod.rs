//! Experiments: arms beside groups.
//!
//! An experiment has arms with weights. Each session is given one arm of each experiment by the draw
//! of groups (weighted rendezvous), with a salt that is the experiment's own: what a session is given
//! is independent of its group, of its endpoint, and of other experiments, also of those whose names
//! are alike. The key is the session's id, or what the application names, such as a user's id.
//!
//! The pin carries what was given, in the claim `arm`. So changed weights move no session between
//! arms, and neither does a rollout: an arm survives renewals, moves and a change of the group's
//! weights. A session is given an arm anew only if its own is not one of the experiment any more.
//!
//! # The claim `arm`
//!
//! Each entry is four bytes: 20 bits of a hash of the experiment's name, and 12 bits of one of the
//! arm's name under it. All entries together are base64url; a `~` at the end says that more did not
//! fit. Names that cannot be told apart are refused when a set is made. The hashes have no key: who
//! knows a name recognises it.
//!
//! An entry of an experiment that is not in the set is kept until its session ends, since a newer
//! release may have written it; a finished experiment costs at most its four bytes for as long. At
//! most [`MAX_CARRIED`] entries are carried, those of the set first.

mod codes;
mod definition;
mod error;
mod given;
mod name;
mod set;
#[cfg(test)]
mod tests;

pub use self::codes::{ArmCodes, MAX_CARRIED};
pub use self::definition::{Arm, Experiment, MAX_ARMS};
pub use self::error::ExperimentError;
pub use self::given::{Given, Joining};
pub use self::name::{ArmName, ExperimentName};
pub use self::set::{ExperimentSet, MAX_EXPERIMENTS};
