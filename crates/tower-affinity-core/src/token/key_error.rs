//! What is wrong with a key or a ring.

use thiserror::Error;

use super::key::MIN_SECRET;
use super::keyring::MAX_KEYS;
use super::{ED25519_KEY, KeyId};

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
    /// A key is not written as one.
    #[error(
        "a key is written as id:base64url, id:ed25519:base64url or id:ed25519-public:base64url, \
         without padding"
    )]
    Form,
    /// Two keys have one id.
    #[error("two keys have the id {0}")]
    Duplicate(KeyId),
    /// What one key keeps to itself is what another one shows, or is used in another way there.
    #[error("the keys {0} and {1} are made of the same bytes, but are of different kinds")]
    Shared(KeyId, KeyId),
    /// A key is shorter than its hash.
    #[error("the key {id} has {len} bytes; at least {MIN_SECRET} are needed")]
    Short {
        /// The key's id.
        id: KeyId,
        /// Its length in bytes.
        len: usize,
    },
    /// A key for Ed25519 has another length than these have.
    #[error("the ed25519 key {id} has {len} bytes; exactly {ED25519_KEY} are needed")]
    Length {
        /// The key's id.
        id: KeyId,
        /// Its length in bytes.
        len: usize,
    },
    /// A key can be guessed, or anybody can sign for it.
    #[error("the key {0} is an example or has no randomness; make one with `gateway keys new`")]
    Weak(KeyId),
    /// The cryptography that was chosen cannot use a key, for example because it is no public key.
    #[error("the ed25519 key {0} is no key that the cryptography of this build can use")]
    Unusable(KeyId),
    /// The first key of a ring that signs only verifies.
    #[error(
        "the key {0} comes first, where the one that signs is expected, but it only verifies; put \
         a key that signs first, or use a ring that only verifies"
    )]
    VerifiesOnly(KeyId),
    /// A ring that signs has a key for Ed25519, whose pins need a secret of another kind.
    #[error(
        "the ed25519 key {0} needs an id secret, from which the ids of groups in pins are made"
    )]
    NoIdSecret(KeyId),
    /// An id secret is not written as one.
    #[error("an id secret is written as base64url, without padding")]
    IdSecretForm,
    /// An id secret is shorter than its hash.
    #[error("the id secret has {0} bytes; at least {MIN_SECRET} are needed")]
    ShortIdSecret(usize),
    /// An id secret can be guessed, or is a key of the ring as well.
    #[error(
        "the id secret is an example, has no randomness or is also a key; make one with \
         `gateway keys new`"
    )]
    WeakIdSecret,
    /// No cryptography was chosen, so that the first request would panic.
    #[error(
        "no cryptography for pins is there: enable exactly one of the features jwt-rust-crypto \
         and jwt-aws-lc-rs, or install a provider of jsonwebtoken"
    )]
    NoBackend,
}
