//! `pin.keys`: where the signing keys come from, and which are too weak to be one.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use tower_affinity::core::{Algorithm, Key, KeyError, KeyId, MAX_KEYS};

use super::Sources;
use super::field::Field;
use super::secret::Secret;
use super::section::Section;

/// One key of the ring, read from its source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeySetting {
    /// Its id, 1 to 16 of `[A-Za-z0-9_-]`; the `kid` of the tokens it signs.
    pub id: KeyId,
    /// How it signs.
    pub algorithm: Algorithm,
    /// Where it was read.
    pub source: KeySource,
    /// At least 32 bytes.
    pub secret: Secret,
}

/// Where a key is read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// An environment variable.
    Env(String),
    /// A file, as an absolute path.
    File(PathBuf),
}

impl KeySetting {
    /// The form in which `pin.keys` names it; without the secret.
    pub(super) fn written(&self) -> String {
        match &self.source {
            KeySource::Env(name) => format!("{}:env:{name}", self.id),
            KeySource::File(path) => format!("{}:file:{}", self.id, path.display()),
        }
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
        } else if let Some(other) = keys.iter().find(|other| other.secret == key.secret) {
            let message = format!(
                "\"{}\" and \"{}\" hold the same key; accepted: one id for each key",
                other.id, key.id
            );
            item.refuse(message);
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
    if ["ed25519:", "ed25519-public:"]
        .iter()
        .any(|kind| rest.starts_with(kind))
    {
        item.refuse(format!(
            "the ed25519 key \"{id}\" is not supported by this version"
        ));
        return None;
    }
    let held = match rest.split_once(':') {
        Some(("env", name)) if is_variable(name) => {
            let unset = || format!("the variable {} is not set", named(name));
            let held = (sources.env)(name).ok_or_else(unset);
            held.map(|held| (KeySource::Env(name.to_owned()), held))
        }
        Some(("file", path)) if !path.is_empty() => {
            let file = sources.path(Path::new(path));
            let held = read_file(&file).map_err(|why| format!("the file {}: {why}", named(path)));
            held.map(|held| (KeySource::File(file), held))
        }
        _ => {
            // whatever stands here may be the key itself
            item.refuse(format!("the key \"{id}\" has no source; accepted: {FORM}"));
            return None;
        }
    };
    let checked = held.and_then(|(source, held)| Ok((source, secret(&id, &held)?)));
    match checked {
        Ok((source, secret)) => Some(KeySetting {
            id,
            algorithm: Algorithm::Hs256,
            source,
            secret,
        }),
        Err(why) => {
            item.refuse(format!(
                "the key \"{id}\" cannot be used: {why}; accepted: {HOLDS}"
            ));
            None
        }
    }
}

/// The name of a source, unless it could be a key that somebody wrote in its place.
fn named(source: &str) -> &str {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'=');
    if source.len() > 40 && source.bytes().all(word) {
        "(not shown)"
    } else {
        source
    }
}

fn read_file(path: &Path) -> Result<String, String> {
    // opening a pipe would wait for its writer
    let metadata = std::fs::metadata(path).map_err(|error| error.kind().to_string())?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    let mut text = String::new();
    let file = File::open(path).map_err(|error| error.kind().to_string())?;
    file.take(MAX_KEY_TEXT)
        .read_to_string(&mut text)
        .map_err(|error| error.kind().to_string())?;
    Ok(text)
}

/// Decodes and judges a key; the message never holds a part of it.
fn secret(id: &KeyId, held: &str) -> Result<Secret, String> {
    let line = held.strip_suffix('\n').unwrap_or(held);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() {
        return Err("it is empty".to_owned());
    }
    if held.len() as u64 >= MAX_KEY_TEXT {
        return Err("it is too long".to_owned());
    }
    let bytes = URL_SAFE_NO_PAD
        .decode(line)
        .map_err(|_| "it is not base64url without padding")?;
    Key::hs256(id.clone(), &bytes).map_err(|error: KeyError| error.to_string())?;
    let distinct: HashSet<u8> = bytes.iter().copied().collect();
    if distinct.len() < MIN_DISTINCT {
        return Err("its bytes repeat, it is not random".to_owned());
    }
    Ok(Secret::new(bytes))
}

fn is_variable(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

const FORM: &str = "\"ID:env:NAME\" or \"ID:file:PATH\"";
const ID: &str = "1 to 16 of A-Z a-z 0-9 _ -";
const HOLDS: &str =
    "at least 32 random bytes as base64url without padding, as `gateway keys new` prints";
const MAX_DROPPED: usize = 64;
/// 32 random bytes have fewer distinct ones about never (p < 10⁻²⁴).
const MIN_DISTINCT: usize = 8;
/// Room for 512 bytes of key; more is a wrong file.
const MAX_KEY_TEXT: u64 = 700;
