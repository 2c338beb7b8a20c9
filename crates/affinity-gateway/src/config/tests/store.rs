//! `[store]` and the scopes that need it.

use std::path::Path;
use std::time::Duration;

use super::{MINIMAL, env, read, settings};
use crate::config::{
    ConfigError, DynamoSettings, KeySource, Login, RedisServers, RedisSettings, Settings,
    StoreKind, StoreSettings, parse,
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

const DYNAMO: &str = "kind = \"dynamodb\"\ntable = \"affinity\"\nregion = \"eu-central-1\"\n\
                      access_key_id = \"env:ID\"\nsecret_access_key = \"env:SECRET\"\n";

/// The settings of a file with that store, in a process whose key is `hunter2`.
fn in_dynamo(lines: &str, more: &str) -> Result<Settings, ConfigError> {
    let env = |name: &str| match name {
        "ID" => Some("AKIAEXAMPLE\n".to_owned()),
        "SECRET" => Some("hunter2".to_owned()),
        name => env(name),
    };
    let settings = parse(&(with(lines) + more), Path::new("/etc/gateway"), &env)?;
    let again = parse(&settings.effective(), Path::new("/"), &env)?;
    assert_eq!(again, settings, "{}", settings.effective());
    assert!(!settings.effective().contains("hunter2"));
    assert!(!format!("{settings:?}").contains("hunter2"));
    Ok(settings)
}

fn dynamo(lines: &str) -> DynamoSettings {
    match in_dynamo(lines, "").unwrap().store.unwrap().kind {
        StoreKind::Dynamo(dynamo) => dynamo,
        other => panic!("{other:?} is not in DynamoDB"),
    }
}

#[test]
fn a_table_of_dynamodb_is_read_and_written_again() {
    let least = dynamo(DYNAMO);
    assert_eq!(
        (&*least.table, &*least.region),
        ("affinity", "eu-central-1")
    );
    assert_eq!((&least.endpoint, least.count_every), (&None, None));
    assert_eq!(least.access_key_id.held.expose(), b"AKIAEXAMPLE");
    assert_eq!(least.secret_access_key.held.expose(), b"hunter2");
    let source = KeySource::Env("SECRET".to_owned());
    assert_eq!(least.secret_access_key.source, source);
    let more = "endpoint = \"http://127.0.0.1:8000\"\ncount_every = \"5s\"\n";
    let more = dynamo(&format!("{DYNAMO}{more}"));
    assert_eq!(more.endpoint.as_deref(), Some("http://127.0.0.1:8000"));
    assert_eq!(more.count_every, Some(Duration::from_secs(5)));
}

#[test]
fn what_dynamodb_cannot_be_reached_by_is_refused_with_its_key() {
    for (from, to, key, accepted) in [
        ("table = \"affinity\"", "", "store.table", "3 to 255"),
        ("affinity", "a/b", "store.table", "3 to 255"),
        ("affinity", "ab", "store.table", "3 to 255"),
        (
            "region = \"eu-central-1\"",
            "",
            "store.region",
            "eu-central-1",
        ),
        ("eu-central-1", "eu central", "store.region", "eu-central-1"),
        ("env:ID", "AKIAEXAMPLE", "store.access_key_id", "env:NAME"),
        ("env:ID", "env:UNSET", "store.access_key_id", "not set"),
        (
            "env:SECRET",
            "hunter2",
            "store.secret_access_key",
            "env:NAME",
        ),
        (
            "secret_access_key = \"env:SECRET\"",
            "",
            "store.secret_access_key",
            "file:PATH",
        ),
        (
            "region",
            "endpoint = \"http://u:hunter2@a\"\nregion",
            "store.endpoint",
            "http://127.0.0.1:8000",
        ),
        (
            "region",
            "endpoint = \"dynamodb://a\"\nregion",
            "store.endpoint",
            "https://",
        ),
        (
            "region",
            "count_every = \"6s\"\nregion",
            "store.count_every",
            "from 1s to 5s",
        ),
        (
            "region",
            "url = \"redis://a:1\"\nregion",
            "store.url",
            "table",
        ),
    ] {
        let text = DYNAMO.replacen(from, to, 1);
        assert_ne!(text, DYNAMO, "the lines do not hold {from:?}");
        let error = in_dynamo(&text, "").unwrap_err();
        assert_eq!(error.key_path(), Some(key), "{text}: {error}");
        let shown = error.to_string();
        assert!(shown.contains(accepted), "{accepted:?} is not in {shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn a_choice_by_load_needs_a_table_that_is_counted() {
    let scope = "[[scope]]\npath = \"/*\"\nassign = \"least_loaded\"\n";
    let told = in_dynamo(DYNAMO, scope).unwrap_err().to_string();
    assert!(told.contains("store.count_every"), "{told}");
    let counted = format!("{DYNAMO}count_every = \"1s\"\n");
    assert_eq!(in_dynamo(&counted, scope).unwrap().scopes.len(), 1);
}
