//! What a group declares of others: that it can serve their sessions.
//!
//! The relation is directed. "The new commit reads the sessions of the old one" says nothing about
//! the other way round, so it is not symmetric; and a session takes one step and no more, so that a
//! circle leads nobody round and need not be refused. A name that the rollout does not know is
//! allowed: the group that is meant is most useful once it is gone.

use std::collections::HashSet;

use thiserror::Error;

use super::{Change, Refusal, Rollout};
use crate::GroupName;

/// How many groups one group can declare itself compatible with.
pub const MAX_COMPATIBLE: usize = 64;

/// A declaration that cannot be.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Incompatible {
    /// A group serves its own sessions anyway.
    #[error("it names itself; name other groups")]
    Itself,
    /// A group is named twice.
    #[error("it names {0} twice; name it once")]
    Twice(GroupName),
    /// More groups than [`MAX_COMPATIBLE`] are named.
    #[error("it names {0} groups; name at most {MAX_COMPATIBLE}")]
    Many(usize),
}

impl Rollout {
    /// Declares that a group can serve the sessions of the groups in `with`, and of no others: in
    /// scopes of level [`Version`](crate::Level::Version) it takes them over once their group is
    /// gone. It moves nobody, and is kept when the group is restored.
    ///
    /// # Errors
    ///
    /// If the group is unknown, or names itself, a group twice, or more than [`MAX_COMPATIBLE`].
    pub fn declare(
        &self,
        name: &GroupName,
        with: &[GroupName],
        change: Change,
    ) -> Result<Self, Refusal> {
        self.refuse_if_locked()?;
        let refuse = |why| Refusal::Compatible {
            group: name.clone(),
            why,
        };
        check(name, with).map_err(refuse)?;
        if self.require(name)?.compatible_with == with {
            return Ok(self.clone());
        }
        let mut next = self.next(change);
        if let Some(group) = next.groups.iter_mut().find(|group| group.name() == name) {
            group.compatible_with = with.to_vec();
        }
        Ok(next)
    }
}

/// Whether the group `name` can declare itself compatible with these.
pub(super) fn check(name: &GroupName, with: &[GroupName]) -> Result<(), Incompatible> {
    if with.len() > MAX_COMPATIBLE {
        return Err(Incompatible::Many(with.len()));
    }
    let mut seen = HashSet::new();
    for other in with {
        if other == name {
            return Err(Incompatible::Itself);
        }
        if !seen.insert(other) {
            return Err(Incompatible::Twice(other.clone()));
        }
    }
    Ok(())
}
