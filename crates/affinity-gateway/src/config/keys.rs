//! `pin.keys`: the signing keys, and those that went early.

use tower_affinity::core::{Key, KeyError, KeyId, KeyKind, MAX_KEYS};

use super::Sources;
use super::field::Field;
use super::secret::Secret;
use super::section::Section;
use super::source::{HOLDS, HOLDS_ED25519, KeySource, secret};

/// One key of the ring, read from its source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeySetting {
    /// Its id, 1 to 16 of `[A-Za-z0-9_-]`; the `kid` of the tokens it signs.
    pub id: KeyId,
    /// Its algorithm, and whether it signs.
    pub kind: KeyKind,
    /// Where it was read.
    pub source: KeySource,
    /// At least 32 bytes; exactly these of a key for Ed25519, of which a public one is no secret.
    pub secret: Secret,
}

impl KeySetting {
    /// The form in which `pin.keys` names it; without the secret.
    pub(super) fn written(&self) -> String {
        let word = self.kind.word().map(|word| format!("{word}:"));
        format!("{}:{}{}", self.id, word.unwrap_or_default(), self.source)
    }

    /// The key of the ring.
    pub(super) fn key(&self) -> Result<Key, KeyError> {
        Key::new(self.kind, self.id.clone(), self.secret.expose())
    }

    /// Whether both are one key, also if one is only its public half.
    fn is_same(&self, other: &Self) -> bool {
        let public = |key: &Self| key.key().ok().and_then(|key| key.public());
        self.secret == other.secret || (public(self).is_some() && public(self) == public(other))
    }
}

/// Reads `pin.keys`; the first one signs.
pub(super) fn read(pin: &Section<'_>, sources: &Sources<'_>) -> Vec<KeySetting> {
    let accepted = format!("1 to {MAX_KEYS} keys as {FORM}");
    let Some(field) = pin.required("keys", &accepted).map(Field::unseen) else {
        return Vec::new();
    };
    let Some(items) = field.items(MAX_KEYS, FORM) else {
        return Vec::new();
    };
    if items.is_empty() {
        field.refuse(format!("is empty; accepted: {accepted}"));
    }
    let mut keys: Vec<KeySetting> = Vec::new();
    for item in &items {
        let Some(key) = item.text(FORM).and_then(|text| key(item, text, sources)) else {
            continue;
        };
        if keys.iter().any(|other| other.id == key.id) {
            item.refuse(format!(
                "the id \"{}\" is used twice; accepted: unique ids",
                key.id
            ));
        } else if let Some(other) = keys.iter().find(|other| other.is_same(&key)) {
            let message = format!(
                "\"{}\" and \"{}\" hold the same key; accepted: one id for each key",
                other.id, key.id
            );
            item.refuse(message);
        } else if keys.is_empty() && !key.kind.signs() {
            item.refuse(format!(
                "\"{}\" only verifies, but the first key signs; accepted: in the first place a key \
                 for HS256 or ed25519",
                key.written()
            ));
        } else {
            keys.push(key);
        }
    }
    keys
}

/// The ids of `pin.drop_early`, none of which is still a key.
pub(super) fn dropped(pin: &Section<'_>, keys: &[KeySetting]) -> Vec<KeyId> {
    let mut dropped: Vec<KeyId> = Vec::new();
    let Some(field) = pin.field("drop_early") else {
        return dropped;
    };
    for item in field.items(MAX_DROPPED, "key ids").unwrap_or_default() {
        let Some(id) = item.parsed(ID, |text| text.parse::<KeyId>().ok()) else {
            continue;
        };
        if keys.iter().any(|key| key.id == id) {
            item.refuse("is still in pin.keys; accepted: ids of keys that were removed there");
        } else if dropped.contains(&id) {
            item.refuse("is named twice; accepted: unique ids");
        } else {
            dropped.push(id);
        }
    }
    dropped
}

fn key(item: &Field<'_>, text: &str, sources: &Sources<'_>) -> Option<KeySetting> {
    let parts = text
        .split_once(':')
        .and_then(|(id, rest)| Some((id.parse::<KeyId>().ok()?, rest)));
    let Some((id, rest)) = parts else {
        item.refuse(format!("does not begin with an id; accepted: {FORM}"));
        return None;
    };
    let (kind, rest) = KeyKind::split(rest);
    let Some(held) = KeySource::read(rest, sources) else {
        // whatever stands here may be the key itself
        item.refuse(format!("the key \"{id}\" has no source; accepted: {FORM}"));
        return None;
    };
    let checked = held.and_then(|(source, held)| Ok((source, secret(kind, &id, &held)?)));
    match checked {
        Ok((source, secret)) => Some(KeySetting {
            id,
            kind,
            source,
            secret,
        }),
        Err(why) => {
            let holds = match kind.word() {
                None => HOLDS,
                Some(_) => HOLDS_ED25519,
            };
            item.refuse(format!(
                "the key \"{id}\" cannot be used: {why}; accepted: {holds}"
            ));
            None
        }
    }
}

const FORM: &str = "\"ID:env:NAME\" or \"ID:file:PATH\", for Ed25519 \"ID:ed25519:env:NAME\" or \
                    \"ID:ed25519-public:env:NAME\"";
const ID: &str = "1 to 16 of A-Z a-z 0-9 _ -";
const MAX_DROPPED: usize = 64;
