//! Where secrets come from, and which are too weak to be one.

use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use tower_affinity::core::{ED25519_KEY, IdSecret, Key, KeyError, KeyId, KeyKind};

use super::Sources;
use super::secret::Secret;

/// Where a key is read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// An environment variable.
    Env(String),
    /// A file, as an absolute path.
    File(PathBuf),
}

impl KeySource {
    /// The source that `text` names, `env:NAME` or `file:PATH`, and the text it holds, or why it
    /// cannot be read; `None` if `text` names no source.
    pub(super) fn read(
        text: &str,
        sources: &Sources<'_>,
    ) -> Option<Result<(Self, String), String>> {
        match text.split_once(':') {
            Some(("env", name)) if is_variable(name) => {
                let unset = || format!("the variable {} is not set", named(name));
                let held = (sources.env)(name).ok_or_else(unset);
                Some(held.map(|held| (Self::Env(name.to_owned()), held)))
            }
            Some(("file", path)) if !path.is_empty() => {
                let file = sources.path(Path::new(path));
                let held = read_file(&file, MAX_KEY_TEXT).and_then(|held| {
                    String::from_utf8(held).map_err(|_| "it is not text".to_owned())
                });
                let held = held.map_err(|why| format!("the file {}: {why}", named(path)));
                Some(held.map(|held| (Self::File(file), held)))
            }
            _ => None,
        }
    }
}

/// The form in which the file names it.
impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
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

/// At most `limit` bytes of a file, or why it cannot be read.
pub(super) fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    // opening a pipe would wait for its writer
    let metadata = std::fs::metadata(path).map_err(|error| why(&error))?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    let mut content = Vec::new();
    let file = File::open(path).map_err(|error| why(&error))?;
    file.take(limit)
        .read_to_end(&mut content)
        .map_err(|error| why(&error))?;
    Ok(content)
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        kind => kind.to_string(),
    }
}

/// Decodes and judges a key; the message never holds a part of it.
pub(super) fn secret(kind: KeyKind, id: &KeyId, held: &str) -> Result<Secret, String> {
    let bytes = random(held)?;
    Key::new(kind, id.clone(), &bytes).map_err(|error: KeyError| error.to_string())?;
    Ok(Secret::new(bytes))
}

/// Decodes and judges an id secret; the message never holds a part of it.
pub(super) fn id_secret(held: &str) -> Result<Secret, String> {
    let bytes = random(held)?;
    IdSecret::new(&bytes).map_err(|error: KeyError| error.to_string())?;
    Ok(Secret::new(bytes))
}

/// The bytes of one line, if they can be random.
fn random(held: &str) -> Result<Vec<u8>, String> {
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
    let distinct: HashSet<u8> = bytes.iter().copied().collect();
    // what is short, an example or one byte is said so below
    if distinct.len() > 1 && bytes.len() >= ED25519_KEY && distinct.len() < MIN_DISTINCT {
        return Err("its bytes repeat, it is not random".to_owned());
    }
    Ok(bytes)
}

fn is_variable(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// What a source has to hold.
pub(super) const HOLDS: &str =
    "at least 32 random bytes as base64url without padding, as `gateway keys new` prints";
/// What a source of a key for Ed25519 has to hold.
pub(super) const HOLDS_ED25519: &str = "32 bytes as base64url without padding, as `gateway keys new \
                                        --ed25519` prints them: the private ones for ed25519, the \
                                        public ones for ed25519-public";
/// 32 random bytes have fewer distinct ones about never (p < 10⁻²⁴).
const MIN_DISTINCT: usize = 8;
/// Room for 512 bytes of key; more is a wrong file.
pub(super) const MAX_KEY_TEXT: u64 = 700;
