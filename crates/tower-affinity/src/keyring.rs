//! The keyring as an application reads it from its environment.

use thiserror::Error;
use tower_affinity_core as core;

/// The keys of a service: the first one signs pins, the others verify them.
///
/// ```no_run
/// use tower_affinity::Keyring;
///
/// // AFFINITY_KEYS="2026-11:…,2026-08:…", each key made by `gateway keys new`
/// let ring = Keyring::from_env("AFFINITY_KEYS")?;
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
    /// The system's random generator does not answer.
    #[error("the system's random generator does not answer")]
    Random(#[from] getrandom::Error),
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

    /// One fresh random key: its pins mean nothing to any other process, and nothing to this one
    /// after a restart. For examples and tests.
    ///
    /// # Errors
    ///
    /// If the system's random generator does not answer, or if no cryptography was chosen.
    pub fn ephemeral() -> Result<Self, KeyringError> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        let key = core::Key::hs256("ephemeral".parse()?, &secret)?;
        Ok(Self(core::Keyring::new([key])?))
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
