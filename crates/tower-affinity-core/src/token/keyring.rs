//! The ring of keys: the first one signs, the others verify.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::crypto::CryptoProvider;
use jsonwebtoken::{DecodingKey, EncodingKey};
use thiserror::Error;

/// The greatest number of keys in a ring.
pub const MAX_KEYS: usize = 16;

/// The least length of a key in bytes: that of the hash (RFC 7518, section 3.2).
const MIN_KEY: usize = 32;

/// Keys that stand in documents for everybody to read.
const EXAMPLES: [&[u8]; 2] = [
    b"an example key, not for real use",
    b"0123456789abcdef0123456789abcdef",
];

/// A key or a ring that cannot be used. No message holds any part of a key.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// There is no key.
    #[error("a keyring needs at least one key")]
    Empty,
    /// There are more than [`MAX_KEYS`].
    #[error("a keyring holds at most {MAX_KEYS} keys, but {0} were given")]
    TooMany(usize),
    /// A key's id has not the form of one.
    #[error("a key id is 1 to 16 of A-Z a-z 0-9 _ -")]
    Id,
    /// A key is not written as `id:base64url`.
    #[error("a key is written as id:base64url, without padding")]
    Form,
    /// Two keys have one id.
    #[error("two keys have the id {0}")]
    Duplicate(KeyId),
    /// A key is shorter than its hash.
    #[error("the key {id} has {len} bytes; at least {MIN_KEY} are needed")]
    Short {
        /// The key's id.
        id: KeyId,
        /// Its length in bytes.
        len: usize,
    },
    /// A key can be guessed.
    #[error("the key {0} is an example or has no randomness; make one with `gateway keys new`")]
    Weak(KeyId),
    /// No cryptography was chosen, so that the first request would panic.
    #[error(
        "no cryptography for pins is there: enable exactly one of the features jwt-rust-crypto \
         and jwt-aws-lc-rs, or install a provider of jsonwebtoken"
    )]
    NoBackend,
}

/// The id of a key, as tokens name it: `[A-Za-z0-9_-]{1,16}`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(Arc<str>);

impl KeyId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KeyId {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let valid = (1..=16).contains(&text.len()) && text.bytes().all(inner);
        if valid {
            Ok(Self(text.into()))
        } else {
            Err(KeyError::Id)
        }
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a key is used with. It comes from the key and never from a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// HMAC with SHA-256: who verifies can sign.
    Hs256,
}

impl Algorithm {
    pub(super) const fn for_library(self) -> jsonwebtoken::Algorithm {
        match self {
            Self::Hs256 => jsonwebtoken::Algorithm::HS256,
        }
    }
}

/// One key of a ring: an id, one algorithm, and the secret.
#[derive(Clone)]
pub struct Key {
    id: KeyId,
    algorithm: Algorithm,
    secret: Arc<[u8]>,
    encoding: EncodingKey,
    decoding: DecodingKey,
}

impl Key {
    /// A key for HS256.
    ///
    /// # Errors
    ///
    /// If it has fewer than 32 bytes, or is an example or one byte repeated.
    pub fn hs256(id: KeyId, secret: &[u8]) -> Result<Self, KeyError> {
        if secret.len() < MIN_KEY {
            return Err(KeyError::Short {
                id,
                len: secret.len(),
            });
        }
        let first = secret.first();
        if secret.iter().all(|byte| Some(byte) == first) || EXAMPLES.contains(&secret) {
            return Err(KeyError::Weak(id));
        }
        let short = |_| KeyError::Short {
            id: id.clone(),
            len: secret.len(),
        };
        Ok(Self {
            encoding: EncodingKey::from_secret(secret).map_err(short)?,
            decoding: DecodingKey::from_secret(secret).map_err(short)?,
            algorithm: Algorithm::Hs256,
            secret: secret.into(),
            id,
        })
    }

    /// The key's id.
    #[must_use]
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub(super) fn secret(&self) -> &[u8] {
        &self.secret
    }

    pub(super) fn encoding(&self) -> &EncodingKey {
        &self.encoding
    }

    pub(super) fn decoding(&self) -> &DecodingKey {
        &self.decoding
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The keys of a service. The first one signs, the others verify.
///
/// A key's way through a rotation is: last place on every replica, first place, another place
/// until no pin that it signed can be valid (the greatest age of a session), gone.
#[derive(Clone, Debug)]
pub struct Keyring {
    keys: Arc<[Key]>,
}

impl Keyring {
    /// A ring of 1 to [`MAX_KEYS`] keys.
    ///
    /// # Errors
    ///
    /// If there are none or too many, if two have one id, or if no cryptography was chosen.
    pub fn new(keys: impl IntoIterator<Item = Key>) -> Result<Self, KeyError> {
        let keys: Vec<Key> = keys.into_iter().collect();
        if keys.is_empty() {
            return Err(KeyError::Empty);
        }
        if keys.len() > MAX_KEYS {
            return Err(KeyError::TooMany(keys.len()));
        }
        for (at, key) in keys.iter().enumerate() {
            if keys.iter().take(at).any(|earlier| earlier.id == key.id) {
                return Err(KeyError::Duplicate(key.id.clone()));
            }
        }
        if CryptoProvider::try_get_default().is_none() {
            return Err(KeyError::NoBackend);
        }
        Ok(Self { keys: keys.into() })
    }

    /// A ring written as `id:base64url,id:base64url`.
    ///
    /// # Errors
    ///
    /// If a key has not that form, or for what [`Key::hs256`] and [`Keyring::new`] refuse.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let key = |item: &str| {
            let (id, secret) = item.trim().split_once(':').ok_or(KeyError::Form)?;
            let secret = URL_SAFE_NO_PAD.decode(secret).map_err(|_| KeyError::Form)?;
            Key::hs256(id.parse()?, &secret)
        };
        let items = text.split(',').filter(|item| !item.trim().is_empty());
        Self::new(items.map(key).collect::<Result<Vec<_>, _>>()?)
    }

    /// The keys; the first one signs.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }
}
