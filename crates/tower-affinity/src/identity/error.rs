//! Why a process does not know its group.

use thiserror::Error;
use tower_affinity_core::InvalidName;

/// The name of this process's group is not there or cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdentityError {
    /// The environment variable is not set, or is not text.
    #[error("the environment variable {0} does not name the group of this process")]
    Variable(String),
    /// No name was stamped into this binary when it was built.
    #[error("no name of a group was given when this binary was built")]
    NotStamped,
    /// It has not the form of a group's name.
    #[error("the name of this process's group cannot be used")]
    Name(#[from] InvalidName),
}
