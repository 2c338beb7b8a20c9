//! What all tokens of one key begin with.

use super::Key;
use super::hs256::Hs256;
use crate::Fault;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A key and the header of its tokens of one type: comparing that finds the key without decoding, and
/// its part of the signature is the same for all of them, so it is taken once.
#[derive(Clone)]
pub(super) struct Head {
    key: Key,
    /// The encoded header and its dot.
    start: String,
    /// HS256 that has taken in the start; `None` for other algorithms.
    begun: Option<Hs256>,
}

impl Head {
    pub(super) fn new(key: &Key, typ: &str) -> Self {
        // a header of three strings is always JSON
        let header = serde_json::to_vec(&key.header(typ)).unwrap_or_default();
        let mut start = URL_SAFE_NO_PAD.encode(header);
        start.push('.');
        Self {
            begun: key.hs256_after(&start),
            key: key.clone(),
            start,
        }
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    /// The encoded header and its dot.
    pub(super) fn start(&self) -> &str {
        &self.start
    }

    /// What follows in a token that begins like those of this key.
    pub(super) fn rest_of<'a>(&self, token: &'a [u8]) -> Option<&'a [u8]> {
        token.strip_prefix(self.start.as_bytes())
    }

    /// Verifies the signature of a token that begins like those of this key; `payload` is what it has
    /// between its dots.
    pub(super) fn verify(&self, payload: &[u8], signature: &[u8]) -> Result<(), Fault> {
        match &self.begun {
            Some(begun) => begun.verify(payload, signature),
            None => self
                .key
                .verify(&[self.start.as_bytes(), payload].concat(), signature),
        }
    }

    /// Signs a token that is its start and its payload; `None` if the key only verifies.
    pub(super) fn sign(&self, token: &mut String) -> Option<()> {
        match &self.begun {
            Some(begun) => {
                let signature = begun.mac(token.as_bytes().get(self.start.len()..)?);
                token.push('.');
                URL_SAFE_NO_PAD.encode_string(signature, token);
            }
            None => {
                let signature = self.key.sign(token)?;
                token.push('.');
                token.push_str(&signature);
            }
        }
        Some(())
    }
}
