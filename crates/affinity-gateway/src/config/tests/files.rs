//! Files around the configuration: keys, the admin token, and the file itself.

use std::path::Path;

use super::scratch::Scratch;
use super::{EXAMPLE, KEY_A, MINIMAL, env, settings};
use crate::config::{ConfigError, KeySource, Settings, parse};

fn read_in(dir: &Scratch, text: &str) -> Result<Settings, ConfigError> {
    parse(text, dir.path(), &env)
}

#[test]
fn a_key_file_is_found_beside_the_configuration() {
    let dir = Scratch::new();
    let key = dir.write("signing.key", format!("{KEY_A}\n"));
    let text = MINIMAL.replace("env:KEY_A", "file:signing.key");
    let read = read_in(&dir, &text).unwrap();
    assert_eq!(read.pin.keys[0].source, KeySource::File(key));
    assert_eq!(
        read.pin.keys[0].secret,
        settings(MINIMAL).pin.keys[0].secret
    );
    assert_eq!(
        read_in(&dir, &read.effective()).unwrap(),
        read,
        "the path is absolute by then"
    );
}

#[test]
fn a_key_file_that_holds_no_key_is_refused_without_its_content() {
    let dir = Scratch::new();
    for content in [
        "",
        "\n",
        "hunter2hunter2",
        &format!("{KEY_A}\n\n"),
        &KEY_A.repeat(20),
    ] {
        dir.write("signing.key", content);
        let error = read_in(&dir, &MINIMAL.replace("env:KEY_A", "file:signing.key")).unwrap_err();
        assert_eq!(error.key_path(), Some("pin.keys[0]"), "{error}");
        for secret in [&KEY_A[..6], "hunter2"] {
            assert!(
                !error.to_string().contains(secret),
                "the content is shown: {error}"
            );
        }
    }
}

#[test]
fn an_admin_side_for_others_needs_its_token_file() {
    let dir = Scratch::new();
    let public = EXAMPLE.replace("127.0.0.1:9090", "0.0.0.0:9090");
    let silent = public.replace("admin_token_file = \"admin.token\"\n", "");
    let error = read_in(&dir, &silent).unwrap_err();
    assert_eq!(error.key_path(), Some("listen.admin_token_file"));
    assert!(error.to_string().contains("is missing"), "{error}");

    let error = read_in(&dir, &public).unwrap_err();
    assert!(
        error.to_string().contains("is not there or is empty"),
        "{error}"
    );
    dir.write("admin.token", "");
    assert!(
        read_in(&dir, &public).is_err(),
        "an empty token was accepted"
    );
    dir.write("admin.token", "a token");
    assert!(read_in(&dir, &public).is_ok());
    let silent = read_in(&dir, &silent);
    assert!(
        silent.is_err(),
        "the default was taken though somebody must choose it"
    );
}

#[test]
fn loopback_has_more_than_one_spelling() {
    for admin in ["127.9.9.9:9090", "[::1]:9090", "[::ffff:127.0.0.1]:9090"] {
        let read = parse(
            &EXAMPLE.replace("127.0.0.1:9090", admin),
            Path::new("/nowhere"),
            &env,
        );
        assert!(
            read.is_ok(),
            "{admin} asks for a token: {}",
            read.unwrap_err()
        );
    }
}

#[test]
fn load_names_the_file() {
    let dir = Scratch::new();
    let path = dir.write("gateway.toml", "service = \"A\"\n");
    let error = Settings::load(&path).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(&format!("{}:1: service = \"A\": ", path.display()))
    );
}

#[test]
fn load_refuses_what_is_no_text_file() {
    let dir = Scratch::new();
    let absent = dir.path().join("absent.toml");
    let binary = dir.write("binary.toml", [0xff, 0xfe, 0x00]);
    let huge = dir.write("huge.toml", "#".repeat((1 << 20) + 1));
    for path in [absent.as_path(), dir.path(), &binary, &huge] {
        let shown = Settings::load(path).unwrap_err().to_string();
        assert!(shown.contains(&path.display().to_string()), "{shown}");
    }
    let whole = dir.write("whole.toml", "#".repeat(1 << 20));
    let shown = Settings::load(&whole).unwrap_err().to_string();
    assert!(shown.contains("service"), "1 MiB is read: {shown}");
}

#[test]
fn depth_and_breadth_of_a_megabyte_do_no_harm() {
    let dir = Scratch::new();
    let keys: String = (0..100_000).map(|n| format!("k{n}=1\n")).collect();
    for (what, text) in [
        ("a deep key", format!("{}a = 1", "a.".repeat(500_000))),
        ("a deep header", format!("[{}a]", "a.".repeat(500_000))),
        ("deep arrays", format!("a = {}", "[".repeat(1_000_000))),
        ("deep tables", format!("a = {}", "{a=".repeat(300_000))),
        ("many keys", keys),
        ("many tables", "[[group]]\n".repeat(100_000)),
        ("many lines", "\n".repeat(1 << 20)),
        ("one line", "x".repeat(1 << 20)),
    ] {
        assert!(read_in(&dir, &text).is_err(), "{what} was accepted");
    }
}
