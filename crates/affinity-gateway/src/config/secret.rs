//! Bytes that are never shown.

use std::fmt;

/// The secret half of a key.
///
/// It has no `Display`, and its `Debug` form does not depend on the bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<[u8]>);

impl Secret {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }

    /// The bytes, for the keyring only.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
