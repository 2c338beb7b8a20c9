//! The secret from which the ids of groups in pins are made where those who verify cannot sign.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::KeyError;
use super::key::{MIN_SECRET, is_weak};

/// What hides the names of groups and endpoints in pins that Ed25519 signs.
///
/// With HS256 these are hidden under the key that signs. A service that only verifies has none, so
/// that names are hidden under a secret of their own: who signs needs it, and a service that wants to
/// know the group of a pin, and nobody else. It signs nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct IdSecret(Arc<[u8]>);

impl IdSecret {
    /// A secret of at least 32 random bytes.
    ///
    /// # Errors
    ///
    /// If it has fewer, or is an example or one byte repeated.
    pub fn new(secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < MIN_SECRET {
            return Err(KeyError::ShortIdSecret(secret.len()));
        }
        if is_weak(secret) {
            return Err(KeyError::WeakIdSecret);
        }
        Ok(Self(secret.into()))
    }

    /// A secret that is written as base64url without padding, as `gateway keys new` prints it.
    ///
    /// # Errors
    ///
    /// If it has not that form, or for what [`IdSecret::new`] refuses.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let secret = URL_SAFE_NO_PAD.decode(text.trim());
        Self::new(&secret.map_err(|_| KeyError::IdSecretForm)?)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for IdSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdSecret(…)")
    }
}
