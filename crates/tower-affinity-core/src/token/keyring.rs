//! Rings of keys: one that signs with its first key, and one that only verifies.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::key::provided;
use super::{IdSecret, Key, KeyError, KeyId, KeyKind};

/// The greatest number of keys in a ring.
pub const MAX_KEYS: usize = 16;

/// The keys of a service. The first one signs, the others verify.
///
/// A key's way through a rotation is: last place on every replica, first place, another place
/// until no pin that it signed can be valid (the greatest age of a session), gone. Keys of both
/// algorithms can be in one ring, so that a rotation also leads from one to the other.
#[derive(Clone, Debug)]
pub struct Keyring(Ring);

impl Keyring {
    /// A ring of 1 to [`MAX_KEYS`] keys for HS256.
    ///
    /// # Errors
    ///
    /// If there are none or too many, if two have one id, if no cryptography was chosen, or if one
    /// is for Ed25519 (see [`Keyring::with_id_secret`]).
    pub fn new(keys: impl IntoIterator<Item = Key>) -> Result<Self, KeyError> {
        Self::signing(Ring::new(keys, None)?)
    }

    /// A ring with an id secret, which keys for Ed25519 need.
    ///
    /// # Errors
    ///
    /// As [`Keyring::new`]; and if the first key cannot sign, or if the secret is a key as well.
    pub fn with_id_secret(
        keys: impl IntoIterator<Item = Key>,
        ids: IdSecret,
    ) -> Result<Self, KeyError> {
        Self::signing(Ring::new(keys, Some(ids))?)
    }

    /// A ring that only verifies, whatever its keys could do.
    ///
    /// # Errors
    ///
    /// What [`VerifyingKeyring::new`] refuses.
    pub fn verifying(keys: impl IntoIterator<Item = Key>) -> Result<VerifyingKeyring, KeyError> {
        VerifyingKeyring::new(keys)
    }

    /// A ring written as `id:base64url,id:base64url`: keys for HS256.
    ///
    /// # Errors
    ///
    /// If a key has not that form, or for what [`Key::new`] and [`Keyring::new`] refuse.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        Self::new(parsed(text)?)
    }

    /// A ring written as `id:ed25519:base64url,id:ed25519-public:base64url,id:base64url`, in any order
    /// and number, with the id secret.
    ///
    /// # Errors
    ///
    /// If a key has not that form, or for what [`Key::new`] and [`Keyring::with_id_secret`] refuse.
    pub fn parse_with_id_secret(text: &str, ids: IdSecret) -> Result<Self, KeyError> {
        Self::with_id_secret(parsed(text)?, ids)
    }

    fn signing(ring: Ring) -> Result<Self, KeyError> {
        let mut keys = ring.keys.iter();
        if let Some(first) = keys.next().filter(|key| !key.kind().signs()) {
            return Err(KeyError::VerifiesOnly(first.id().clone()));
        }
        let asymmetric = ring.keys.iter().find(|key| key.kind().is_asymmetric());
        match asymmetric {
            Some(key) if ring.ids.is_none() => Err(KeyError::NoIdSecret(key.id().clone())),
            _ => Ok(Self(ring)),
        }
    }

    /// The keys; the first one signs.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.0.keys
    }

    pub(super) fn ring(&self) -> &Ring {
        &self.0
    }
}

/// The keys of a service that reads pins and makes none: its type has nothing that signs.
#[derive(Clone, Debug)]
pub struct VerifyingKeyring(Ring);

impl VerifyingKeyring {
    /// A ring of 1 to [`MAX_KEYS`] keys.
    ///
    /// # Errors
    ///
    /// If there are none or too many, if two have one id, or if no cryptography was chosen.
    pub fn new(keys: impl IntoIterator<Item = Key>) -> Result<Self, KeyError> {
        Ring::new(keys, None).map(Self)
    }

    /// A ring that was written as for [`Keyring::parse`] or [`Keyring::parse_with_id_secret`].
    ///
    /// # Errors
    ///
    /// If a key has not that form, or for what [`Key::new`] and [`VerifyingKeyring::new`] refuse.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        Self::new(parsed(text)?)
    }

    /// The ring of a service that is to know the groups of pins which Ed25519 signed. Without the id
    /// secret it learns of such a pin the session, the times and the moves.
    ///
    /// # Errors
    ///
    /// If the secret is a key as well.
    pub fn with_id_secret(self, ids: IdSecret) -> Result<Self, KeyError> {
        Ring::new(self.0.keys.iter().cloned(), Some(ids)).map(Self)
    }

    /// The keys.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.0.keys
    }

    pub(super) fn ring(&self) -> &Ring {
        &self.0
    }
}

impl From<&Keyring> for VerifyingKeyring {
    fn from(ring: &Keyring) -> Self {
        Self(ring.0.clone())
    }
}

/// Keys that can be together, and the secret of their codes.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    pub(super) keys: Arc<[Key]>,
    pub(super) ids: Option<IdSecret>,
}

impl Ring {
    fn new(keys: impl IntoIterator<Item = Key>, ids: Option<IdSecret>) -> Result<Self, KeyError> {
        let keys: Vec<Key> = keys.into_iter().collect();
        if keys.is_empty() {
            return Err(KeyError::Empty);
        }
        if keys.len() > MAX_KEYS {
            return Err(KeyError::TooMany(keys.len()));
        }
        for (at, key) in keys.iter().enumerate() {
            let earlier = keys.split_at(at).0;
            if earlier.iter().any(|earlier| earlier.id() == key.id()) {
                return Err(KeyError::Duplicate(key.id().clone()));
            }
            if let Some(other) = earlier.iter().find(|earlier| share(earlier, key)) {
                let (one, two) = (other.id().clone(), key.id().clone());
                return Err(KeyError::Shared(one, two));
            }
        }
        let is_key = |ids: &IdSecret| keys.iter().any(|key| halves(key, ids.as_bytes()));
        if ids.as_ref().is_some_and(is_key) {
            return Err(KeyError::WeakIdSecret);
        }
        provided()?;
        Ok(Self {
            keys: keys.into(),
            ids,
        })
    }
}

/// Whether a key is made of those bytes, or shows them.
fn halves(key: &Key, bytes: &[u8]) -> bool {
    key.identity() == bytes || key.secret() == Some(bytes)
}

/// Whether a secret for HS256 is the public or the private half of the other key: with the former,
/// everybody could sign.
fn share(one: &Key, other: &Key) -> bool {
    one.kind().is_asymmetric() != other.kind().is_asymmetric()
        && (halves(one, other.identity()) || halves(other, one.identity()))
}

fn parsed(text: &str) -> Result<Vec<Key>, KeyError> {
    let key = |item: &str| {
        let (id, rest) = item.trim().split_once(':').ok_or(KeyError::Form)?;
        let (kind, bytes) = KeyKind::split(rest);
        let bytes = URL_SAFE_NO_PAD.decode(bytes).map_err(|_| KeyError::Form)?;
        Key::new(kind, id.parse::<KeyId>()?, &bytes)
    };
    let items = text.split(',').filter(|item| !item.trim().is_empty());
    items.map(key).collect()
}
