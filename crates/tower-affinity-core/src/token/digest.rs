//! What a key looks like to those who must not see it.

use hkdf::Hkdf;
use sha2::Sha256;

use super::keyring::Ring;
use super::{IdSecret, Key, KeyId, Keyring, PinCodec};
use crate::Digest;

/// The id of a key, and what is the same on every replica that holds this very key.
///
/// The digest is derived from the key under a label of its own, so it tells nothing of the key and
/// verifies nothing. That of a key for Ed25519 is derived from its public half and the id secret:
/// replicas with different ones do not understand each other's pins either.
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
        let Ring { keys, ids } = self.ring();
        keys.iter().map(|key| key.digest(ids.as_ref())).collect()
    }
}

impl PinCodec {
    /// The digests of all keys; the first one signs.
    #[must_use]
    pub fn digests(&self) -> Vec<KeyDigest> {
        self.ring().digests()
    }
}

impl Key {
    fn digest(&self, ids: Option<&IdSecret>) -> KeyDigest {
        let salt = ids.filter(|_| self.kind().is_asymmetric());
        let hkdf = Hkdf::<Sha256>::new(salt.map(IdSecret::as_bytes), self.identity());
        let mut derived = [0; 16];
        let expanded = hkdf.expand(b"key-digest", &mut derived);
        debug_assert!(expanded.is_ok(), "16 bytes are within what HKDF can give");
        KeyDigest {
            id: self.id().clone(),
            digest: Digest::of(&derived),
        }
    }
}
