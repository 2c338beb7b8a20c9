//! Fresh signing keys.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

/// 32 random bytes of the system's generator as base64url: what a key source holds.
///
/// # Errors
///
/// If the system has no randomness to give.
pub(crate) fn fresh() -> Result<String, getrandom::Error> {
    let mut key = [0; 32];
    getrandom::fill(&mut key)?;
    Ok(URL_SAFE_NO_PAD.encode(key))
}
