//! HS256 with the work on its key done once.
//!
//! The library does the same from scratch for every token: it sets the hash up for the key, boxes a
//! verifier and allocates what it decodes, about half of what a check costs. A test holds this
//! against the library, which stays in charge of every other algorithm.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::Fault;

/// The length of an encoded signature, and room for what it decodes to.
const ENCODED: usize = 43;
const DECODED: usize = 33;

/// A key of HS256, ready for messages.
#[derive(Clone)]
pub(super) struct Hs256(Hmac<Sha256>);

impl Hs256 {
    /// `None` for a secret that HMAC cannot take, which there is none of.
    pub(super) fn new(secret: &[u8]) -> Option<Self> {
        let keyed = <Hmac<Sha256> as KeyInit>::new_from_slice(secret);
        keyed.ok().map(Self)
    }

    /// The encoded signature.
    pub(super) fn sign(&self, message: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.of(message).finalize().into_bytes())
    }

    pub(super) fn verify(&self, message: &str, signature: &str) -> Result<(), Fault> {
        if signature.len() != ENCODED {
            return match URL_SAFE_NO_PAD.decode(signature) {
                Ok(_) => Err(Fault::BadSignature),
                Err(_) => Err(Fault::Malformed),
            };
        }
        let mut decoded = [0; DECODED];
        let len = URL_SAFE_NO_PAD.decode_slice(signature, &mut decoded);
        let decoded = len.ok().and_then(|len| decoded.get(..len));
        let decoded = decoded.ok_or(Fault::Malformed)?;
        // in constant time
        let verified = self.of(message).verify_slice(decoded);
        verified.map_err(|_| Fault::BadSignature)
    }

    fn of(&self, message: &str) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(message.as_bytes());
        mac
    }
}
