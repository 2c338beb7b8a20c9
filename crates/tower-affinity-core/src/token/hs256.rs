//! HS256 with the work on its key done once.
//!
//! The library does the same from scratch for every token: it sets the hash up for the key, boxes a
//! verifier and allocates what it decodes, about half of what a check costs. A test holds this
//! against the library, which stays in charge of every other algorithm.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{Fault, base64url};

/// A key of HS256, ready for messages.
#[derive(Clone)]
pub(super) struct Hs256(Hmac<Sha256>);

impl Hs256 {
    /// `None` for a secret that HMAC cannot take, which there is none of.
    pub(super) fn new(secret: &[u8]) -> Option<Self> {
        let keyed = <Hmac<Sha256> as KeyInit>::new_from_slice(secret);
        keyed.ok().map(Self)
    }

    /// The same key for messages that begin with `start`, which is taken in once for all of them.
    pub(super) fn after(&self, start: &str) -> Self {
        let mut mac = self.0.clone();
        mac.update(start.as_bytes());
        Self(mac)
    }

    /// The encoded signature.
    pub(super) fn sign(&self, message: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.mac(message))
    }

    /// The signature itself.
    pub(super) fn mac(&self, message: &[u8]) -> [u8; 32] {
        self.of(message).finalize().into_bytes().into()
    }

    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Fault> {
        let Some(decoded) = base64url::decode_exactly::<32>(signature) else {
            // whatever is no canonical text is malformed, and a signature of another length is not ours
            return match URL_SAFE_NO_PAD.decode(signature) {
                Ok(_) => Err(Fault::BadSignature),
                Err(_) => Err(Fault::Malformed),
            };
        };
        // in constant time
        let verified = self.of(message).verify_slice(&decoded);
        verified.map_err(|_| Fault::BadSignature)
    }

    #[inline]
    fn of(&self, message: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(message);
        mac
    }
}
