//! What the layer is compared with: the cryptography alone.

use hmac::{Hmac, KeyInit, Mac};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use sha2::Sha256;

use super::fixture::{SECRET, SERVICE};

/// The claims of a pin, as an application without this crate would read them.
#[derive(Debug, Deserialize)]
pub(crate) struct Claims {
    pub(crate) aud: String,
    pub(crate) sid: String,
    pub(crate) grp: String,
    pub(crate) sst: u64,
    pub(crate) iat: u64,
    pub(crate) exp: u64,
    pub(crate) rev: u64,
    pub(crate) arv: u64,
    pub(crate) mv: u32,
}

/// One verification by `jsonwebtoken`: signature, audience and expiry, with the key at hand.
pub(crate) struct Verify {
    key: DecodingKey,
    validation: Validation,
}

impl Verify {
    pub(crate) fn new() -> Self {
        let mut validation = Validation::new(Algorithm::HS256);
        validation.leeway = 0;
        validation.set_audience(&[SERVICE]);
        validation.set_required_spec_claims(&["aud", "exp"]);
        Self {
            // a keyring reads base64url without padding
            key: DecodingKey::from_base64_secret(&padded(SECRET)).unwrap(),
            validation,
        }
    }

    pub(crate) fn verify(&self, token: &str) -> Claims {
        jsonwebtoken::decode(token, &self.key, &self.validation)
            .unwrap()
            .claims
    }
}

/// One HMAC-SHA256 over what a signature covers, with the key schedule at hand.
pub(crate) struct RawMac(Hmac<Sha256>);

impl RawMac {
    pub(crate) fn new() -> Self {
        Self(Hmac::new_from_slice(SECRET.as_bytes()).unwrap())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 32] {
        let mut mac = self.0.clone();
        mac.update(message);
        mac.finalize().into_bytes().into()
    }
}

/// The same 32 bytes in the standard alphabet, which is what the library reads.
fn padded(secret: &str) -> String {
    format!("{}=", secret.replace('-', "+").replace('_', "/"))
}
