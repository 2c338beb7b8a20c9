//! The keyring as an application reads it from its environment.

use thiserror::Error;
use tower_affinity_core as core;

/// The keys of a service: the first one signs pins, the others verify them.
///
/// ```
/// use tower_affinity::Keyring;
///
/// let ring = Keyring::parse("2026-11:q2WOHk2oGXw7uJHXbmbTZ0k5ZpyVGtR0vpdSg1oVRnE")?;
/// # Ok::<(), tower_affinity::KeyringError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Keyring(core::Keyring);

/// A keyring that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyringError {
    /// The environment variable is not set, or is not text.
    #[error("the environment variable {0} is not set")]
    NotSet(String),
    /// A key or the ring breaks a rule.
    #[error(transparent)]
    Key(#[from] core::KeyError),
}

impl Keyring {
    /// Reads `id:base64url,id:base64url` from an environment variable.
    ///
    /// # Errors
    ///
    /// If it is not set, or for what [`Keyring::parse`] refuses.
    pub fn from_env(variable: &str) -> Result<Self, KeyringError> {
        let text =
            std::env::var(variable).map_err(|_| KeyringError::NotSet(variable.to_owned()))?;
        Self::parse(&text)
    }

    /// Reads `id:base64url,id:base64url`: each key of at least 32 random bytes, without padding.
    ///
    /// # Errors
    ///
    /// If a key is malformed, short or an example, or if no cryptography was chosen.
    pub fn parse(text: &str) -> Result<Self, KeyringError> {
        Ok(Self(core::Keyring::parse(text)?))
    }

    pub(crate) fn as_core(&self) -> &core::Keyring {
        &self.0
    }
}

impl From<core::Keyring> for Keyring {
    fn from(ring: core::Keyring) -> Self {
        Self(ring)
    }
}
