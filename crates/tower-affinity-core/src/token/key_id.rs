//! The id of a key.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::KeyError;

/// The id of a key, as tokens name it: `[A-Za-z0-9_-]{1,16}`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(Arc<str>);

impl KeyId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyId {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let valid = (1..=16).contains(&text.len()) && text.bytes().all(inner);
        if valid {
            Ok(Self(text.into()))
        } else {
            Err(KeyError::Id)
        }
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
