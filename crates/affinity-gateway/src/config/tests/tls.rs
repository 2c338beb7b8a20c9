//! `listen.tls` and `listen.proxy_protocol`: right and wrong.

use rcgen::{CertifiedKey, generate_simple_self_signed};

use super::scratch::Scratch;
use super::{KEY_A, KEY_B, MINIMAL, env};
use crate::config::{ConfigError, KeySource, Settings, parse};

/// A directory with a pair, the key of another one, and two keys of tickets.
pub(super) fn directory() -> Scratch {
    let dir = Scratch::new();
    for name in ["", "other-"] {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        dir.write(&format!("{name}cert.pem"), cert.pem());
        dir.write(&format!("{name}key.pem"), signing_key.serialize_pem());
    }
    dir.write("tickets-new", format!("{KEY_A}\n"));
    dir.write("tickets-old", KEY_B);
    dir
}

fn listen(dir: &Scratch, text: &str) -> Result<Settings, ConfigError> {
    parse(&format!("{MINIMAL}[listen]\n{text}"), dir.path(), &env)
}

#[test]
fn without_a_word_there_is_neither_tls_nor_the_proxy_protocol() {
    let read = listen(&directory(), "").unwrap();
    assert_eq!((read.listen.tls, read.listen.proxy_protocol), (None, false));
}

#[test]
fn tls_is_read_from_files_beside_the_configuration() {
    let dir = directory();
    let keys = "ticket_keys = [\"file:tickets-new\", \"env:TICKETS\"]";
    let text = format!("tls = {{ cert = \"cert.pem\", key = \"key.pem\", {keys} }}");
    let read = listen(&dir, &text).unwrap();
    let tls = read.listen.tls.as_ref().unwrap();
    assert_eq!(tls.cert, dir.path().join("cert.pem"));
    assert_eq!(tls.key, dir.path().join("key.pem"));
    let sources: Vec<_> = tls.ticket_keys.iter().map(|key| &key.source).collect();
    let file = dir.path().join("tickets-new");
    assert_eq!(
        sources,
        [
            &KeySource::File(file.clone()),
            &KeySource::Env("TICKETS".to_owned())
        ]
    );
    assert_eq!(tls.files(), [&tls.cert, &tls.key, &file].map(Clone::clone));
    let effective = read.effective();
    assert_eq!(parse(&effective, dir.path(), &env).unwrap(), read);
    let shown = format!("{read:?}{effective}");
    let key = std::fs::read_to_string(&tls.key).unwrap();
    for secret in [KEY_A, KEY_B, key.lines().nth(1).unwrap()] {
        assert!(!shown.contains(&secret[..12]), "a key is shown in\n{shown}");
    }
}

#[test]
fn another_pair_makes_other_settings() {
    let dir = directory();
    let text =
        "tls = { cert = \"cert.pem\", key = \"key.pem\", ticket_keys = [\"file:tickets-old\"] }";
    let before = listen(&dir, text).unwrap();
    assert_eq!(listen(&dir, text).unwrap(), before);
    dir.write("tickets-old", KEY_A);
    let rotated = listen(&dir, text).unwrap();
    assert_ne!(rotated, before, "another key of tickets");
    for name in ["cert.pem", "key.pem"] {
        let other = dir.path().join(format!("other-{name}"));
        std::fs::copy(other, dir.path().join(name)).unwrap();
    }
    assert_ne!(listen(&dir, text).unwrap(), rotated, "another certificate");
}

#[test]
fn a_wrong_pair_is_refused_with_its_key_its_value_and_what_is_accepted() {
    let dir = directory();
    let no_pem = "a file of PEM certificates, the server's own first";
    let no_key = "a PEM file with the private key of the certificate";
    for (cert, key, at, value, told) in [
        (
            "gone.pem",
            "key.pem",
            "cert",
            "gone.pem",
            ["no such file", no_pem],
        ),
        (
            "cert.pem",
            "gone.pem",
            "key",
            "gone.pem",
            ["no such file", no_key],
        ),
        (
            "tickets-new",
            "key.pem",
            "cert",
            "tickets-new",
            ["holds no certificate", no_pem],
        ),
        (
            "cert.pem",
            "cert.pem",
            "key",
            "cert.pem",
            ["holds no private key", no_key],
        ),
        (
            "cert.pem",
            "other-key.pem",
            "key",
            "other-key.pem",
            ["not the key of", no_key],
        ),
        (
            ".",
            "key.pem",
            "cert",
            "\".\"",
            ["not a regular file", no_pem],
        ),
    ] {
        let text = format!("tls = {{ cert = \"{cert}\", key = \"{key}\" }}");
        let error = listen(&dir, &text).unwrap_err();
        assert_eq!(error.key_path(), Some(format!("listen.tls.{at}").as_str()));
        let shown = error.shown_value().unwrap();
        assert!(shown.contains(value), "{error}");
        assert!(error.line().is_some(), "{error}");
        for words in told {
            assert!(error.message().contains(words), "{words} is not in {error}");
        }
    }
    for (text, at) in [
        ("tls = { cert = \"cert.pem\" }", "listen.tls.key"),
        ("tls = { key = \"key.pem\" }", "listen.tls.cert"),
        ("tls = true", "listen.tls"),
    ] {
        let error = listen(&dir, text).unwrap_err();
        assert_eq!(error.key_path(), Some(at), "{error}");
    }
}

#[test]
fn a_wrong_ticket_key_is_refused_without_being_shown() {
    let dir = directory();
    for (keys, told) in [
        ("\"env:SHORT\"", "at least 32"),
        ("\"env:ZEROS\"", "accepted"),
        ("\"env:UNSET\"", "not set"),
        ("\"file:gone\"", "no such file"),
        ("\"file:cert.pem\"", "accepted"),
        (&format!("\"{KEY_A}\""), "\"env:NAME\""),
        (
            "\"file:tickets-old\", \"file:tickets-old\"",
            "each key once",
        ),
        (&"\"env:A\",".repeat(17), "at most 16"),
        ("1", "\"env:NAME\""),
    ] {
        let text =
            format!("tls = {{ cert = \"cert.pem\", key = \"key.pem\", ticket_keys = [{keys}] }}");
        let error = listen(&dir, &text).unwrap_err();
        let key = error.key_path().unwrap_or_default();
        assert!(key.starts_with("listen.tls.ticket_keys"), "{error}");
        assert!(error.message().contains(told), "{told} is not in {error}");
        assert!(!error.to_string().contains(&KEY_A[..8]), "{error}");
    }
}

#[test]
fn the_proxy_protocol_needs_somebody_to_believe() {
    let dir = directory();
    let error = listen(&dir, "proxy_protocol = true").unwrap_err();
    assert_eq!(error.key_path(), Some("listen.proxy_protocol"));
    assert!(error.message().contains("trusted_proxies"), "{error}");
    let text = "proxy_protocol = true\ntrusted_proxies = [\"10.0.0.0/8\"]";
    assert!(listen(&dir, text).unwrap().listen.proxy_protocol);
    let error = listen(&dir, "proxy_protocol = \"v2\"").unwrap_err();
    assert_eq!(error.key_path(), Some("listen.proxy_protocol"));
}
