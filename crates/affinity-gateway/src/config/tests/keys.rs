//! Keys for Ed25519 and the id secret.

use tower_affinity::core::KeyKind;

use super::{ConfigError, EXAMPLE, IDS, MINIMAL, PRIVATE, Settings, read, settings};

/// The least configuration with those keys, and with that line in `[pin]`.
fn with(keys: &str, line: &str) -> String {
    MINIMAL.replace(
        "keys = [\"a:env:KEY_A\"]",
        &format!("keys = [{keys}]\n{line}"),
    )
}

const SIGNS: &str = "\"e:ed25519:env:PRIVATE\"";
const VERIFIES: &str = "\"e:ed25519-public:env:PUBLIC\"";
const HS256: &str = "\"a:env:KEY_A\"";
const ID_SECRET: &str = "id_secret = \"env:IDS\"";

fn refused(keys: &str, line: &str, key: &str, words: &[&str]) -> ConfigError {
    let error = read(&with(keys, line)).unwrap_err();
    assert_eq!(error.key_path(), Some(key), "{error}");
    for word in words {
        assert!(
            error.to_string().contains(word),
            "{word} is not in: {error}"
        );
    }
    assert!(error.message().contains("accepted: "), "{error}");
    let shown = format!("{error} {error:?}");
    for secret in [PRIVATE, IDS] {
        assert!(!shown.contains(&secret[..6]), "a secret is shown: {shown}");
    }
    error
}

fn kinds(settings: &Settings) -> Vec<KeyKind> {
    settings.pin.keys.iter().map(|key| key.kind).collect()
}

#[test]
fn a_key_for_ed25519_signs_and_its_public_half_verifies() {
    let signing = settings(&with(&format!("{SIGNS}, {HS256}"), ID_SECRET));
    assert_eq!(kinds(&signing), [KeyKind::Ed25519, KeyKind::Hs256]);
    assert!(signing.pin.keyring().is_ok());
    let both = settings(&with(&format!("{HS256}, {VERIFIES}"), ID_SECRET));
    assert_eq!(kinds(&both), [KeyKind::Hs256, KeyKind::Ed25519Public]);
    assert!(both.pin.keyring().is_ok());
    let public = signing.pin.keyring().unwrap().keys()[0].public();
    assert_eq!(public, both.pin.keyring().unwrap().keys()[1].public());
}

#[test]
fn the_effective_settings_name_them_and_show_no_secret() {
    let text = settings(&with(&format!("{SIGNS}, {HS256}"), ID_SECRET)).effective();
    assert!(text.contains("keys = [\"e:ed25519:env:PRIVATE\", \"a:env:KEY_A\"]"));
    assert!(text.contains("id_secret = \"env:IDS\""), "{text}");
    assert!(!text.contains(PRIVATE) && !text.contains(IDS), "{text}");
    assert_eq!(settings(&text).effective(), text, "it makes the same again");
    assert!(!settings(EXAMPLE).effective().contains("id_secret"));
}

#[test]
fn a_gateway_does_not_start_with_a_first_key_that_only_verifies() {
    let keys = format!("{VERIFIES}, {HS256}");
    let words = [
        "e:ed25519-public:env:PUBLIC",
        "only verifies",
        "HS256 or ed25519",
    ];
    refused(&keys, ID_SECRET, "pin.keys[0]", &words);
}

#[test]
fn a_ring_with_a_key_for_ed25519_needs_the_id_secret() {
    for keys in [SIGNS.to_owned(), format!("{HS256}, {VERIFIES}")] {
        refused(&keys, "", "pin.id_secret", &["is missing", "env:NAME"]);
    }
    // a ring without one may have it before the key comes
    assert!(settings(&with(HS256, ID_SECRET)).pin.id_secret.is_some());
}

#[test]
fn an_id_secret_that_cannot_be_used_is_refused() {
    let id_secret = |source: &str, words: &[&str]| {
        let line = format!("id_secret = \"{source}\"");
        refused(SIGNS, &line, "pin.id_secret", words);
    };
    id_secret("env:UNSET", &["UNSET is not set"]);
    id_secret("env:SHORT", &["at least 32"]);
    id_secret("env:ZEROS", &["no randomness"]);
    id_secret("env:PAIRS", &["repeat"]);
    id_secret("env:HEX", &["base64url"]);
    id_secret("env:PRIVATE", &["holds a key of pin.keys"]);
    id_secret(IDS, &["is no source"]);
    refused(SIGNS, "id_secret = 1", "pin.id_secret", &["env:NAME"]);
}

#[test]
fn a_key_for_ed25519_that_cannot_be_used_is_refused() {
    let key = |source: &str, words: &[&str]| {
        let keys = format!("{HS256}, \"e:{source}\"");
        refused(&keys, ID_SECRET, "pin.keys[1]", words);
    };
    key("ed25519:env:SHORT", &["exactly 32", "--ed25519"]);
    key("ed25519:env:ZEROS", &["no randomness"]);
    key("ed25519:env:PADDED", &["base64url"]);
    key("ed25519:env:EXAMPLE", &["an example"]);
    key("ed25519-public:env:ZEROS", &["no randomness"]);
    key("ed25519:vault:x", &["has no source"]);
    key("ed25519", &["has no source"]);
    key("ed448:env:KEY_B", &["has no source"]);
    key(&format!("ed25519:{PRIVATE}"), &["has no source"]);
}

#[test]
fn one_key_is_not_in_a_ring_under_two_ids_nor_as_two_kinds() {
    let public = "\"p:ed25519-public:env:PUBLIC\"";
    let twice = format!("{SIGNS}, {public}");
    refused(&twice, ID_SECRET, "pin.keys[1]", &["hold the same key"]);
    let as_secret = format!("\"a:env:PUBLIC\", {SIGNS}");
    let words = ["same bytes", "different kinds"];
    refused(&as_secret, ID_SECRET, "pin.keys", &words);
    let seed = format!("{SIGNS}, \"a:env:PRIVATE\"");
    refused(&seed, ID_SECRET, "pin.keys[1]", &["hold the same key"]);
}
