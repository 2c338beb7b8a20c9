//! `[store]` and the scopes that need it.

use std::path::Path;
use std::time::Duration;

use super::{MINIMAL, env, read, settings};
use crate::config::{
    ConfigError, KeySource, Login, RedisServers, RedisSettings, StoreKind, StoreSettings, parse,
};

fn redis(servers: RedisServers) -> StoreKind {
    let login = None;
    StoreKind::Redis(RedisSettings { servers, login })
}

fn with(store: &str) -> String {
    format!("{MINIMAL}[store]\n{store}\n")
}

fn stored(store: &str) -> StoreSettings {
    settings(&with(store)).store.unwrap()
}

#[test]
fn nothing_is_stored_unless_the_file_says_where() {
    assert_eq!(settings(MINIMAL).store, None);
    let memory = stored("kind = \"memory\"");
    assert_eq!(
        memory.kind,
        StoreKind::Memory {
            capacity: 1_000_000
        }
    );
    assert_eq!(memory.timeout, Duration::from_millis(20));
}

#[test]
fn every_kind_is_read_and_written_again() {
    let node = |n: u16| format!("redis://10.0.0.{n}:6379");
    let cluster = RedisServers::Cluster(vec![node(1), node(2)]);
    for (text, kind) in [
        (
            "kind = \"memory\"\ncapacity = 7",
            StoreKind::Memory { capacity: 7 },
        ),
        (
            "kind = \"redis\"\nurl = \"redis://10.0.0.1:6379\"",
            redis(RedisServers::One(node(1))),
        ),
        (
            "kind = \"redis\"\ncluster = [\"redis://10.0.0.1:6379\", \"redis://10.0.0.2:6379\"]",
            redis(cluster),
        ),
    ] {
        assert_eq!(stored(text).kind, kind, "{text}");
        let once = settings(&with(text));
        assert_eq!(settings(&once.effective()), once, "{}", once.effective());
    }
}

#[test]
fn what_no_store_can_be_is_refused_with_its_key() {
    let redis = "kind = \"redis\"\n";
    for (text, key, accepted) in [
        ("capacity = 1".to_owned(), "store.kind", "\"memory\""),
        ("kind = \"disk\"".to_owned(), "store.kind", "\"redis\""),
        (
            "kind = \"memory\"\ncapacity = 0".to_owned(),
            "store.capacity",
            "from 1 to 100000000",
        ),
        (
            "kind = \"memory\"\nurl = \"redis://a:1\"".to_owned(),
            "store.url",
            "capacity",
        ),
        (
            "kind = \"memory\"\ntimeout = \"2s\"".to_owned(),
            "store.timeout",
            "from 1ms to 1s",
        ),
        (redis.to_owned(), "store.url", "redis://127.0.0.1:6379"),
        (
            format!("{redis}url = \"redis://a:1\"\ncluster = [\"redis://b:1\"]"),
            "store.cluster",
            "one of url, cluster",
        ),
        (format!("{redis}cluster = []"), "store.cluster", "is empty"),
        (
            format!("{redis}url = \"http://a:1\""),
            "store.url",
            "without a password",
        ),
        (
            "kind = \"dynamodb\"".to_owned(),
            "store.kind",
            "is not supported by this version",
        ),
    ] {
        let error = read(&with(&text)).unwrap_err();
        assert_eq!(error.key_path(), Some(key), "{text}: {error}");
        let shown = error.to_string();
        assert!(shown.contains(accepted), "{accepted:?} is not in {shown}");
    }
}

#[test]
fn a_password_in_an_address_is_in_no_message() {
    let error = read(&with(
        "kind = \"redis\"\nurl = \"redis://u:hunter2@10.0.0.1:6379\"",
    ))
    .unwrap_err();
    let shown = error.to_string();
    assert!(shown.contains("without a password"), "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
}

/// The login of a store in Redis with these lines, where `PASSWORD` holds `held`.
fn login(lines: &str, held: &str) -> Result<Option<Login>, ConfigError> {
    let text = with(&format!(
        "kind = \"redis\"\nurl = \"redis://10.0.0.1:6379\"\n{lines}"
    ));
    let env = |name: &str| match name {
        "PASSWORD" => Some(held.to_owned()),
        name => env(name),
    };
    let settings = parse(&text, Path::new("/etc/gateway"), &env)?;
    let again = parse(&settings.effective(), Path::new("/"), &env)?;
    assert_eq!(again, settings, "{}", settings.effective());
    assert!(!settings.effective().contains("hunter2"));
    match settings.store.map(|store| store.kind) {
        Some(StoreKind::Redis(redis)) => Ok(redis.login),
        other => panic!("{other:?} is not in Redis"),
    }
}

#[test]
fn a_password_comes_from_elsewhere() {
    assert_eq!(login("", "").unwrap(), None);
    let alone = login("password = \"env:PASSWORD\"", "hunter2\r\n");
    let alone = alone.unwrap().unwrap();
    assert_eq!(alone.user, None);
    assert_eq!(alone.password.expose(), b"hunter2");
    assert_eq!(alone.source, KeySource::Env("PASSWORD".to_owned()));
    assert!(!format!("{alone:?}").contains("hunter2"));
    let named = login("user = \"shop\"\npassword = \"env:PASSWORD\"", "hunter2");
    assert_eq!(named.unwrap().unwrap().user.as_deref(), Some("shop"));
}

#[test]
fn a_login_that_cannot_be_used_is_refused_without_what_it_holds() {
    let long = "hunter2".repeat(100);
    for (lines, held, key, why) in [
        ("user = \"shop\"", "", "store.password", "env:NAME"),
        ("password = \"hunter2\"", "", "store.password", "no source"),
        ("password = \"env:UNSET\"", "", "store.password", "not set"),
        (
            "password = \"file:absent\"",
            "",
            "store.password",
            "no such file",
        ),
        (
            "password = \"env:PASSWORD\"",
            "\n",
            "store.password",
            "empty",
        ),
        (
            "password = \"env:PASSWORD\"",
            "hunter2\nhunter2",
            "store.password",
            "one line",
        ),
        (
            "password = \"env:PASSWORD\"",
            &long,
            "store.password",
            "too long",
        ),
        ("password = 7", "", "store.password", "env:NAME"),
        (
            "user = \"a b\"\npassword = \"env:PASSWORD\"",
            "hunter2",
            "store.user",
            "without spaces",
        ),
    ] {
        let error = login(lines, held).unwrap_err();
        assert_eq!(error.key_path(), Some(key), "{lines}: {error}");
        let shown = error.to_string();
        assert!(shown.contains(why), "{why:?} is not in {shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn a_choice_by_load_needs_somebody_who_counts() {
    let scope = "[[scope]]\npath = \"/*\"\nassign = \"least_loaded\"\n";
    let told = |text: &str| read(text).unwrap_err().to_string();
    let alone = told(&format!("{MINIMAL}{scope}"));
    assert!(alone.contains("needs a [store]"), "{alone}");
    let counted = format!("{MINIMAL}{scope}[store]\nkind = \"memory\"\n");
    assert_eq!(settings(&counted).scopes.len(), 1);
    let both = told(&counted.replace("[store]", "on_step = \"reassign\"\n[store]"));
    assert!(both.contains("least movement"), "{both}");
}
