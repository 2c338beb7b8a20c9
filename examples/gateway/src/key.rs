//! Fresh keys.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use tower_affinity::core::{Key, KeyError};

/// 32 random bytes of the system's generator as base64url: what a key source holds.
///
/// # Errors
///
/// If the system has no randomness to give.
pub(crate) fn fresh() -> Result<String, getrandom::Error> {
    Ok(URL_SAFE_NO_PAD.encode(random()?))
}

/// A key for Ed25519.
#[derive(Debug)]
pub(crate) struct Pair {
    /// What signs, for gateways: the seed as base64url.
    pub(crate) private: String,
    /// What verifies, for services that must not sign: the public key as base64url.
    pub(crate) public: String,
}

/// A fresh key for Ed25519.
///
/// # Errors
///
/// If the system has no randomness to give, or the cryptography of this build cannot make it.
pub(crate) fn fresh_pair() -> Result<Pair, PairError> {
    let seed = random()?;
    let key = Key::ed25519("new".parse()?, &seed)?;
    let public = key.public().ok_or(PairError::NoPublicHalf)?;
    Ok(Pair {
        private: URL_SAFE_NO_PAD.encode(seed),
        public: URL_SAFE_NO_PAD.encode(public),
    })
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PairError {
    #[error("the system's random generator does not answer: {0}")]
    Random(#[from] getrandom::Error),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("the key has no public half")]
    NoPublicHalf,
}

fn random() -> Result<[u8; 32], getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}
