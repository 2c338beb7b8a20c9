//! What a key looks like to those who must not see it.

use hkdf::Hkdf;
use sha2::Sha256;

use super::{Key, KeyId, Keyring, PinCodec};
use crate::Digest;

/// The id of a key, and what is the same on every replica that holds this very key.
///
/// The digest is derived from the key under a label of its own, so it tells nothing of the key and
/// verifies nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDigest {
    /// The key's id.
    pub id: KeyId,
    /// 128 bits that only this key gives.
    pub digest: Digest,
}

impl Keyring {
    /// The digests of all keys; the first one signs.
    #[must_use]
    pub fn digests(&self) -> Vec<KeyDigest> {
        self.keys().iter().map(Key::digest).collect()
    }
}

impl PinCodec {
    /// The digests of all keys; the first one signs.
    #[must_use]
    pub fn digests(&self) -> Vec<KeyDigest> {
        self.keys().map(Key::digest).collect()
    }
}

impl Key {
    fn digest(&self) -> KeyDigest {
        let mut derived = [0; 16];
        let expanded = Hkdf::<Sha256>::new(None, self.secret()).expand(b"key-digest", &mut derived);
        debug_assert!(expanded.is_ok(), "16 bytes are within what HKDF can give");
        KeyDigest {
            id: self.id().clone(),
            digest: Digest::of(&derived),
        }
    }
}
