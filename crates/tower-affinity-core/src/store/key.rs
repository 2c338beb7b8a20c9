//! What a row is found by.

use std::fmt;

use crate::{DrawKey, SessionId};

/// What a row is found by: always 128 bits of ours, never a text that a client has sent.
///
/// Its `Debug` form hides the bits, since a session id has no place in a log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowKey {
    /// A session.
    Session(SessionId),
    /// A hash of what a scope names, for example of a user's id.
    Named(DrawKey),
}

impl RowKey {
    /// The kind, which separates the two spaces, and the bits.
    #[must_use]
    pub const fn parts(self) -> (char, u128) {
        match self {
            Self::Session(session) => ('s', session.bits()),
            Self::Named(key) => ('k', key.bits()),
        }
    }

    /// Whether a full store may let go of another row for one with this key, once a valid pin was
    /// shown. Only for a session, which has one row: a client with a single pin can name any number of
    /// keys.
    #[must_use]
    pub const fn may_displace(self) -> bool {
        matches!(self, Self::Session(_))
    }
}

impl fmt::Display for RowKey {
    /// The form in a store: a letter for the kind and 32 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, bits) = self.parts();
        write!(f, "{kind}:{bits:032x}")
    }
}

impl fmt::Debug for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:…", self.parts().0)
    }
}
