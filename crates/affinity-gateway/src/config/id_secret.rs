//! `pin.id_secret`: what hides the names of groups in the pins of keys for Ed25519.

use super::Sources;
use super::keys::KeySetting;
use super::secret::Secret;
use super::section::Section;
use super::source::{HOLDS, KeySource, id_secret};

/// The id secret, read from its source.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdSecretSetting {
    /// Where it was read.
    pub source: KeySource,
    /// At least 32 bytes.
    pub secret: Secret,
}

/// Reads `pin.id_secret`, which every ring with a key for Ed25519 needs.
pub(super) fn read(
    pin: &Section<'_>,
    keys: &[KeySetting],
    sources: &Sources<'_>,
) -> Option<IdSecretSetting> {
    let Some(field) = pin.field("id_secret") else {
        if let Some(key) = keys.iter().find(|key| key.kind.word().is_some()) {
            let accepted = format!("{FORM}, since \"{}\" is for ed25519", key.written());
            pin.missing("id_secret", accepted);
        }
        return None;
    };
    let field = field.unseen();
    let text = field.text(FORM)?;
    let Some(held) = KeySource::read(text, sources) else {
        // whatever stands here may be the secret itself
        field.refuse(format!("is no source; accepted: {FORM}"));
        return None;
    };
    match held.and_then(|(source, held)| Ok((source, id_secret(&held)?))) {
        Ok((_, secret)) if keys.iter().any(|key| key.secret == secret) => {
            field.refuse("holds a key of pin.keys; accepted: a secret of its own");
            None
        }
        Ok((source, secret)) => Some(IdSecretSetting { source, secret }),
        Err(why) => {
            field.refuse(format!("cannot be used: {why}; accepted: {HOLDS}"));
            None
        }
    }
}

const FORM: &str = "\"env:NAME\" or \"file:PATH\"";
