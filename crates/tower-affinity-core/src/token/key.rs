//! One key: what it is made of, and what it signs and verifies.

use std::fmt;
use std::sync::Arc;

use hkdf::Hkdf;
use jsonwebtoken::crypto::{self, CryptoProvider};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use sha2::Sha256;

use super::ed25519::{self, ED25519_KEY};
use super::hs256::Hs256;
use super::{KeyError, KeyId};
use crate::Fault;

/// The least length of a secret in bytes: that of the hash (RFC 7518, section 3.2).
pub(super) const MIN_SECRET: usize = 32;

/// Secrets that stand in documents for everybody to read; the last one is the first test of RFC 8032.
const EXAMPLES: [&[u8]; 3] = [
    b"an example key, not for real use",
    b"0123456789abcdef0123456789abcdef",
    &[
        0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c,
        0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae,
        0x7f, 0x60,
    ],
];

/// Whether a secret can be guessed.
pub(super) fn is_weak(secret: &[u8]) -> bool {
    let first = secret.first();
    secret.iter().all(|byte| Some(byte) == first) || EXAMPLES.contains(&secret)
}

/// What a key is: its algorithm, and whether it signs. It comes from the key and never from a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum KeyKind {
    /// HMAC with SHA-256: who verifies can sign.
    Hs256,
    /// Ed25519 with its private half: signs and verifies.
    Ed25519,
    /// The public half of an Ed25519 key: only verifies.
    Ed25519Public,
}

impl KeyKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Hs256, Self::Ed25519, Self::Ed25519Public];

    /// The word between a key's id and the rest of its text form; HS256 has none.
    #[must_use]
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Hs256 => None,
            Self::Ed25519 => Some("ed25519"),
            Self::Ed25519Public => Some("ed25519-public"),
        }
    }

    /// The kind that a text form begins with, after its id, and the rest of it.
    #[must_use]
    pub fn split(text: &str) -> (Self, &str) {
        let named = Self::ALL.into_iter().find_map(|kind| {
            let rest = text.strip_prefix(kind.word()?)?;
            Some((kind, rest.strip_prefix(':')?))
        });
        named.unwrap_or((Self::Hs256, text))
    }

    /// Whether a key of this kind signs.
    #[must_use]
    pub const fn signs(self) -> bool {
        match self {
            Self::Hs256 | Self::Ed25519 => true,
            Self::Ed25519Public => false,
        }
    }

    /// Whether whoever verifies cannot sign.
    pub(super) const fn is_asymmetric(self) -> bool {
        match self {
            Self::Hs256 => false,
            Self::Ed25519 | Self::Ed25519Public => true,
        }
    }

    const fn for_library(self) -> Algorithm {
        match self {
            Self::Hs256 => Algorithm::HS256,
            Self::Ed25519 | Self::Ed25519Public => Algorithm::EdDSA,
        }
    }
}

/// One key of a ring: an id, one algorithm, and what it is made of.
#[derive(Clone)]
pub struct Key {
    id: KeyId,
    material: Material,
}

#[derive(Clone)]
enum Material {
    Hmac {
        secret: Arc<[u8]>,
        keyed: Hs256,
    },
    Ed25519 {
        private: Option<Private>,
        public: [u8; ED25519_KEY],
        decoding: DecodingKey,
    },
}

/// What only a key that signs has.
#[derive(Clone)]
struct Private {
    seed: [u8; ED25519_KEY],
    encoding: EncodingKey,
}

impl Key {
    /// A key of that kind: a secret, a seed or a public key.
    ///
    /// # Errors
    ///
    /// What [`Key::hs256`], [`Key::ed25519`] and [`Key::ed25519_public`] refuse.
    pub fn new(kind: KeyKind, id: KeyId, bytes: &[u8]) -> Result<Self, KeyError> {
        match kind {
            KeyKind::Hs256 => Self::hs256(id, bytes),
            KeyKind::Ed25519 => Self::ed25519(id, bytes),
            KeyKind::Ed25519Public => Self::ed25519_public(id, bytes),
        }
    }

    /// A key for HS256.
    ///
    /// # Errors
    ///
    /// If it has fewer than 32 bytes, or is an example or one byte repeated.
    pub fn hs256(id: KeyId, secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < MIN_SECRET {
            return Err(KeyError::Short {
                id,
                len: secret.len(),
            });
        }
        if is_weak(secret) {
            return Err(KeyError::Weak(id));
        }
        let Some(keyed) = Hs256::new(secret) else {
            return Err(KeyError::Unusable(id));
        };
        let material = Material::Hmac {
            secret: secret.into(),
            keyed,
        };
        Ok(Self { id, material })
    }

    /// A key for Ed25519 that signs and verifies, from its seed of 32 random bytes.
    ///
    /// # Errors
    ///
    /// If it has another length, or is an example or one byte repeated; if no cryptography was chosen.
    pub fn ed25519(id: KeyId, seed: &[u8]) -> Result<Self, KeyError> {
        let seed = exactly(&id, seed)?;
        if is_weak(&seed) {
            return Err(KeyError::Weak(id));
        }
        provided()?;
        let private = ed25519::private(&seed);
        let Some(public) = ed25519::public(&private) else {
            return Err(KeyError::Unusable(id));
        };
        let mut key = Self::ed25519_public(id, &public)?;
        if let Material::Ed25519 { private: half, .. } = &mut key.material {
            *half = Some(Private {
                seed,
                encoding: private,
            });
        }
        // a library that signs for another public key than it tells is found here, not by a client
        match key
            .sign("")
            .map(|signature| key.verify(b"", signature.as_bytes()))
        {
            Some(Ok(())) => Ok(key),
            _ => Err(KeyError::Unusable(key.id)),
        }
    }

    /// A key for Ed25519 that only verifies, from its 32 public bytes.
    ///
    /// # Errors
    ///
    /// If it has another length or is one for which anybody can sign; if the cryptography finds that
    /// it is no public key, which not every one does; if none was chosen.
    pub fn ed25519_public(id: KeyId, public: &[u8]) -> Result<Self, KeyError> {
        let public = exactly(&id, public)?;
        if ed25519::has_small_order(&public) || is_weak(&public) {
            return Err(KeyError::Weak(id));
        }
        provided()?;
        let material = Material::Ed25519 {
            private: None,
            public,
            decoding: DecodingKey::from_ed_der(&public),
        };
        let key = Self { id, material };
        match key.verify(b"", "A".repeat(86).as_bytes()) {
            Err(Fault::BadSignature) => Ok(key),
            _ => Err(KeyError::Unusable(key.id)),
        }
    }

    /// The key's id.
    #[must_use]
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        match self.material {
            Material::Hmac { .. } => KeyKind::Hs256,
            Material::Ed25519 {
                private: Some(_), ..
            } => KeyKind::Ed25519,
            Material::Ed25519 { private: None, .. } => KeyKind::Ed25519Public,
        }
    }

    /// The public half of a key for Ed25519, for services that only verify; `None` for HS256.
    #[must_use]
    pub fn public(&self) -> Option<[u8; ED25519_KEY]> {
        match self.material {
            Material::Hmac { .. } => None,
            Material::Ed25519 { public, .. } => Some(public),
        }
    }

    /// What must not be shown; `None` for a key that only verifies.
    pub(super) fn secret(&self) -> Option<&[u8]> {
        match &self.material {
            Material::Hmac { secret, .. } => Some(secret),
            Material::Ed25519 { private, .. } => private.as_ref().map(|private| &private.seed[..]),
        }
    }

    /// What two copies of this key have in common, also if one of them only verifies.
    pub(super) fn identity(&self) -> &[u8] {
        match &self.material {
            Material::Hmac { secret, .. } => secret,
            Material::Ed25519 { public, .. } => public,
        }
    }

    /// A key of the same kind for another purpose; `None` for a key that only verifies.
    pub(super) fn derived(&self, label: &[u8]) -> Option<Self> {
        self.derived_as(self.kind(), label)
    }

    /// A key of `kind` for another purpose; `None` for a key that only verifies.
    pub(super) fn derived_as(&self, kind: KeyKind, label: &[u8]) -> Option<Self> {
        let mut derived = [0; 32];
        let hkdf = Hkdf::<Sha256>::new(None, self.secret()?);
        hkdf.expand(label, &mut derived).ok()?;
        Self::new(kind, self.id.clone(), &derived).ok()
    }

    /// The header of this key's tokens of one type.
    pub(super) fn header(&self, typ: &str) -> jsonwebtoken::Header {
        let mut header = jsonwebtoken::Header::new(self.kind().for_library());
        header.typ = Some(typ.to_owned());
        header.kid = Some(self.id.as_str().to_owned());
        header
    }

    /// Whether a token that says so can be one of this key's.
    pub(super) fn is_for(&self, algorithm: Algorithm) -> bool {
        self.kind().for_library() == algorithm
    }

    /// HS256 that has taken in the start of its messages; `None` for another algorithm.
    pub(super) fn hs256_after(&self, start: &str) -> Option<Hs256> {
        match &self.material {
            Material::Hmac { keyed, .. } => Some(keyed.after(start)),
            Material::Ed25519 { .. } => None,
        }
    }

    /// The encoded signature; `None` if the key only verifies.
    pub(super) fn sign(&self, message: &str) -> Option<String> {
        match &self.material {
            Material::Hmac { keyed, .. } => Some(keyed.sign(message.as_bytes())),
            Material::Ed25519 { private, .. } => {
                let encoding = &private.as_ref()?.encoding;
                crypto::sign(message.as_bytes(), encoding, Algorithm::EdDSA).ok()
            }
        }
    }

    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), Fault> {
        let decoding = match &self.material {
            Material::Hmac { keyed, .. } => return keyed.verify(message, signature),
            Material::Ed25519 { decoding, .. } => decoding,
        };
        let signature = std::str::from_utf8(signature).map_err(|_| Fault::Malformed)?;
        match crypto::verify(signature, message, decoding, Algorithm::EdDSA) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Fault::BadSignature),
            Err(_) => Err(Fault::Malformed),
        }
    }
}

fn exactly(id: &KeyId, bytes: &[u8]) -> Result<[u8; ED25519_KEY], KeyError> {
    bytes.try_into().map_err(|_| KeyError::Length {
        id: id.clone(),
        len: bytes.len(),
    })
}

/// Whether there is a cryptography; without one, the library panics at the first use.
pub(super) fn provided() -> Result<(), KeyError> {
    match CryptoProvider::try_get_default() {
        Some(_) => Ok(()),
        None => Err(KeyError::NoBackend),
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .field("kind", &self.kind())
            .finish_non_exhaustive()
    }
}
