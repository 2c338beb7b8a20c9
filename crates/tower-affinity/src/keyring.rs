//! The rings of keys as an application reads them from its environment.

use thiserror::Error;
use tower_affinity_core::{self as core, IdSecret, PinVerifier, ServiceName};

/// The keys of a service: the first one signs pins, the others verify them.
///
/// ```no_run
/// use tower_affinity::Keyring;
///
/// // AFFINITY_KEYS="2026-11:…,2026-08:…", each key made by `gateway keys new`
/// let ring = Keyring::from_env("AFFINITY_KEYS")?;
/// # Ok::<(), tower_affinity::KeyringError>(())
/// ```
///
/// Customised: Ed25519 signs, so that services which hold only the public half (see
/// [`VerifyingKeyring`]) can read pins and make none.
///
/// ```no_run
/// use tower_affinity::Keyring;
///
/// // AFFINITY_KEYS="2026-12:ed25519:…,2026-11:…", the former made by `gateway keys new --ed25519`
/// let ring = Keyring::from_env_with_id_secret("AFFINITY_KEYS", "AFFINITY_ID_SECRET")?;
/// # Ok::<(), tower_affinity::KeyringError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Keyring(core::Keyring);

/// The keys of a service that reads pins and makes none, so that it need not be trusted with more.
///
/// ```no_run
/// use tower_affinity::VerifyingKeyring;
///
/// // AFFINITY_KEYS="2026-12:ed25519-public:…", as `gateway keys new --ed25519` prints it
/// let ring = VerifyingKeyring::from_env("AFFINITY_KEYS")?;
/// # Ok::<(), tower_affinity::KeyringError>(())
/// ```
///
/// No layer that issues pins takes it:
///
/// ```compile_fail
/// # fn build(ring: tower_affinity::VerifyingKeyring) {
/// tower_affinity::AffinityLayer::builder().keyring(ring);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct VerifyingKeyring(core::VerifyingKeyring);

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
        Self::parse(&read(variable)?)
    }

    /// Reads a ring from one environment variable, and the id secret that keys for Ed25519 need from
    /// another one.
    ///
    /// # Errors
    ///
    /// If one of them is not set, or for what [`Keyring::parse_with_id_secret`] refuses.
    pub fn from_env_with_id_secret(keys: &str, id_secret: &str) -> Result<Self, KeyringError> {
        Self::parse_with_id_secret(&read(keys)?, &read(id_secret)?)
    }

    /// Reads `id:base64url,id:base64url`: each key of at least 32 random bytes, without padding.
    ///
    /// # Errors
    ///
    /// If a key is malformed, short or an example, if one is for Ed25519, or if no cryptography was
    /// chosen.
    pub fn parse(text: &str) -> Result<Self, KeyringError> {
        Ok(Self(core::Keyring::parse(text)?))
    }

    /// Reads keys `id:base64url` (HS256), `id:ed25519:base64url` (a seed of 32 bytes, signs) and
    /// `id:ed25519-public:base64url` (only verifies), with commas between, and an id secret of at
    /// least 32 random bytes as base64url: what hides the names of groups in the pins of Ed25519.
    ///
    /// # Errors
    ///
    /// If one is malformed, short or an example, if the first key only verifies, or if no
    /// cryptography was chosen.
    pub fn parse_with_id_secret(text: &str, id_secret: &str) -> Result<Self, KeyringError> {
        let ids = IdSecret::parse(id_secret)?;
        Ok(Self(core::Keyring::parse_with_id_secret(text, ids)?))
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

impl VerifyingKeyring {
    /// Reads the keys from an environment variable.
    ///
    /// # Errors
    ///
    /// If it is not set, or for what [`VerifyingKeyring::parse`] refuses.
    pub fn from_env(variable: &str) -> Result<Self, KeyringError> {
        Self::parse(&read(variable)?)
    }

    /// Reads keys as [`Keyring::parse_with_id_secret`] does, in any order: none of them signs.
    ///
    /// # Errors
    ///
    /// If a key is malformed, short or an example, or if no cryptography was chosen.
    pub fn parse(text: &str) -> Result<Self, KeyringError> {
        Ok(Self(core::VerifyingKeyring::parse(text)?))
    }

    /// Lets the service know the groups of pins that Ed25519 signed; without the secret they stay
    /// unknown, and only sessions, times and moves are read.
    ///
    /// # Errors
    ///
    /// If the secret is malformed, short, an example, or a key as well.
    pub fn with_id_secret(self, id_secret: &str) -> Result<Self, KeyringError> {
        let ids = IdSecret::parse(id_secret)?;
        Ok(Self(self.0.with_id_secret(ids)?))
    }

    /// What opens the pins of `service` with these keys.
    #[must_use]
    pub fn verifier(&self, service: ServiceName) -> PinVerifier {
        PinVerifier::new(service, &self.0)
    }
}

fn read(variable: &str) -> Result<String, KeyringError> {
    std::env::var(variable).map_err(|_| KeyringError::NotSet(variable.to_owned()))
}

impl From<core::Keyring> for Keyring {
    fn from(ring: core::Keyring) -> Self {
        Self(ring)
    }
}

/// The same keys, none of which signs.
impl From<Keyring> for VerifyingKeyring {
    fn from(ring: Keyring) -> Self {
        Self((&ring.0).into())
    }
}

impl From<core::VerifyingKeyring> for VerifyingKeyring {
    fn from(ring: core::VerifyingKeyring) -> Self {
        Self(ring)
    }
}
