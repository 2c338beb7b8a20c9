//! Tokens made by hand: any header, any claims, any key.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

/// The signing key of the gateways, as an attacker never has it.
pub(crate) const SECRET: &[u8] = b"\x17a key that none but tests know\xfe";

/// A token taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Forged {
    pub(crate) header: Value,
    pub(crate) claims: Value,
}

impl Forged {
    /// Takes a genuine one apart.
    pub(crate) fn of(token: &str) -> Self {
        let parts: Vec<_> = token.split('.').collect();
        let read = |part: &str| {
            let bytes = URL_SAFE_NO_PAD.decode(part).expect("a part is base64url");
            serde_json::from_slice(&bytes).expect("a part is JSON")
        };
        Self {
            header: read(parts[0]),
            claims: read(parts[1]),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.header[name] = value.into();
        self
    }

    pub(crate) fn claim(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.claims[name] = value.into();
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.claims.as_object_mut().expect("claims").remove(name);
        self
    }

    /// Signs it with the real key.
    pub(crate) fn sign(&self) -> String {
        self.sign_with(SECRET)
    }

    pub(crate) fn sign_with(&self, secret: &[u8]) -> String {
        signed(&self.header.to_string(), &self.claims.to_string(), secret)
    }
}

/// A token of that very text.
pub(crate) fn signed(header: &str, claims: &str, secret: &[u8]) -> String {
    let message = format!("{}.{}", unpadded(header), unpadded(claims));
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length");
    mac.update(message.as_bytes());
    format!("{message}.{}", unpadded(mac.finalize().into_bytes()))
}

pub(crate) fn unpadded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
