//! Wrong values of every kind, each with the line, the key and the words that an operator gets to see.

use super::scratch::Scratch;
use super::{EXAMPLE, MINIMAL, edited, read};

/// Replaces `from` in the example and expects the mistake at `key`, on the line of `to`'s first
/// line, with every one of `words` in the message.
pub(super) fn refused(from: &str, to: &str, key: &str, words: &[&str]) {
    let text = edited(from, to);
    let error = read(&text).expect_err(&format!("{to:?} was accepted"));
    let shown = error.to_string();
    assert_eq!(error.key_path(), Some(key), "for {to:?}: {shown}");
    for word in words {
        assert!(
            shown.contains(word),
            "{word:?} is not in the message for {to:?}: {shown}"
        );
    }
    if !to.is_empty() {
        let at = EXAMPLE.find(from).expect("the edit is in the text");
        let first = 1 + EXAMPLE[..at].matches('\n').count();
        let lines = first..=first + to.matches('\n').count();
        assert!(
            error.line().is_some_and(|line| lines.contains(&line)),
            "line of {to:?}: {shown}"
        );
    }
}

#[test]
fn a_message_is_one_line_with_place_key_value_and_what_is_accepted() {
    let error = read(&edited("weight    = 10", "weight = -1")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 28: group[1].weight = -1: accepted: a whole number from 0 to 10000"
    );
}

#[test]
fn what_is_missing_is_named() {
    refused(
        "service = \"checkout\"\n",
        "",
        "service",
        &["is missing", "1 to 32 of a-z 0-9 -"],
    );
    refused(
        "name      = \"c3d4e5f\"\n",
        "",
        "group[1].name",
        &["is missing", "line 26"],
    );
    refused("path      = \"/*\"\n", "", "scope[1].path", &["is missing"]);
    let error = read("service = \"x\"\n[pin]\nkeys = [\"a:env:KEY_A\"]\n").unwrap_err();
    assert_eq!(error.key_path(), Some("group"), "{error}");
    let error = read("").unwrap_err();
    assert!(error.to_string().contains("more problems"), "{error}");
}

#[test]
fn unknown_keys_are_refused_wherever_they_stand() {
    refused(
        "service = ",
        "servise = \"a\"\nservice = ",
        "servise",
        &["not a known key", "service"],
    );
    refused(
        "idle_ttl  =",
        "idle = 3\nidle_ttl  =",
        "pin.idle",
        &["not a known key", "idle_ttl"],
    );
    refused(
        "[rollback]",
        "[rollbak]\npolicy = 'move'\n[rollback]",
        "rollbak",
        &["rollback"],
    );
    refused(
        "partitioned = false",
        "domain = \"x\"",
        "pin.cookie.domain",
        &["same_site"],
    );
    refused(
        "max_in_flight",
        "max_inflight",
        "group[0].max_inflight",
        &["max_in_flight"],
    );
    refused("on_gone ", "on-gone ", "scope[1].on-gone", &["on_gone"]);
}

#[test]
fn values_of_another_type_are_refused_with_what_is_accepted() {
    refused(
        "service = \"checkout\"",
        "service = 7",
        "service",
        &["= 7:", "a-z"],
    );
    refused(
        "\"127.0.0.1:8080\"",
        "8080",
        "listen.address",
        &["an IP address and a port"],
    );
    refused(
        "trusted_proxies  = []",
        "trusted_proxies = true",
        "listen.trusted_proxies",
        &["array"],
    );
    refused(
        "idle_ttl  = \"30m\"",
        "idle_ttl = 1800",
        "pin.idle_ttl",
        &["a duration"],
    );
    refused(
        "\"1s\"",
        "{ a = 1 }",
        "upstream.connect_timeout",
        &["= a table", "a duration"],
    );
    refused(
        "weight    = 90",
        "weight = 90.5",
        "group[0].weight",
        &["= 90.5:", "whole number"],
    );
    refused(
        "stable    = true",
        "stable = \"yes\"",
        "group[0].stable",
        &["= \"yes\":", "true, false"],
    );
    refused(
        "streaming = false",
        "streaming = 0",
        "scope[1].streaming",
        &["true, false"],
    );
    refused(
        "health    = {",
        "health = 3\nx = {",
        "upstream.health",
        &["a table"],
    );
    let error = read(&MINIMAL.replace("[[group]]", "[group]")).unwrap_err();
    assert_eq!(error.key_path(), Some("group"), "{error}");
}

#[test]
fn what_endpoints_speak_fits_their_tls() {
    let scratch = Scratch::new();
    let ca = |text: &str| scratch.write("ca.pem", text).display().to_string();
    let upstream = |lines: &str| {
        edited(
            "connect_timeout = ",
            &format!("{lines}\nconnect_timeout = "),
        )
    };
    let wrong = |lines: &str, key: &str, part: &str| {
        let error = read(&upstream(lines)).unwrap_err();
        assert_eq!(error.key_path(), Some(key), "{lines}: {error}");
        assert!(error.to_string().contains(part), "{lines}: {error}");
    };
    wrong(
        "protocol = \"spdy\"",
        "upstream.protocol",
        "\"http1\", \"h2c\", \"h2\"",
    );
    wrong("protocol = \"h2\"", "upstream.tls", "spoken over TLS");
    wrong("tls = {}", "upstream.tls.ca", "is missing");
    wrong(
        "tls = { ca = \"absent.pem\" }",
        "upstream.tls.ca",
        "certificates",
    );
    let nothing = ca("no certificate at all");
    wrong(
        &format!("tls = {{ ca = \"{nothing}\" }}"),
        "upstream.tls.ca",
        "certificates",
    );
    let authority = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
    let right = format!("ca = \"{}\"", ca(&authority.cert.pem()));
    wrong(
        &format!("tls = {{ {right}, server_name = \"no name\" }}"),
        "upstream.tls.server_name",
        "a host name",
    );
    wrong(
        &format!("protocol = \"h2c\"\ntls = {{ {right} }}"),
        "upstream.tls",
        "has no effect",
    );
    let text = upstream(&format!(
        "protocol = \"h2\"\ntls = {{ {right}, server_name = \"a\" }}"
    ));
    let settings = read(&text).unwrap();
    assert_eq!(read(&settings.effective()).unwrap(), settings);
}

#[test]
fn numbers_and_durations_have_bounds() {
    for bad in ["-1", "10001", "99999999999999999999", "0x1_0000"] {
        refused(
            "weight    = 90",
            &format!("weight = {bad}"),
            "group[0].weight",
            &["from 0 to 10000"],
        );
    }
    refused(
        "= 512",
        "= 0",
        "group[0].max_in_flight",
        &["from 1 to 1000000"],
    );
    refused(
        "unhealthy_after = 2",
        "jitter_percent = 51",
        "upstream.health.jitter_percent",
        &["0 to 50"],
    );
    refused(
        "unhealthy_after = 2",
        "timeout = \"9ms\"",
        "upstream.health.timeout",
        &["10ms"],
    );
    refused(
        "unhealthy_after = 2",
        "unhealthy_after = 0",
        "upstream.health.unhealthy_after",
        &["1 to 100"],
    );
    for bad in ["0s", "367d", "", "soon", "-5m", "1500ms", "1e9s"] {
        let to = format!("idle_ttl = \"{bad}\"");
        refused(
            "idle_ttl  = \"30m\"",
            &to,
            "pin.idle_ttl",
            &["from 1s to 366d"],
        );
    }
    refused(
        "interval = \"2s\"",
        "interval = \"10ms\"",
        "upstream.health.interval",
        &["from 100ms to 1h"],
    );
    refused("\"5m\"", "\"2h\"", "pin.clock_skew", &["from 0s to 1h"]);
}

#[test]
fn keys_are_named_but_never_shown() {
    // SEC-55, SEC-34
    let key = |source: &str, words: &[&str]| {
        let to = format!("\"2026-08:{source}\"");
        refused(
            "\"2026-08:env:AFFINITY_KEY_2026_08\"",
            &to,
            "pin.keys[1]",
            words,
        );
    };
    key("env:UNSET", &["UNSET is not set", "gateway keys new"]);
    key("env:EMPTY", &["is empty"]);
    key("env:SHORT", &["at least 32"]);
    key("env:ZEROS", &["no randomness"]);
    key("env:PAIRS", &["repeat"]);
    key("env:EXAMPLE", &["an example"]);
    key("env:HEX", &["base64url"]);
    key("env:PADDED", &["base64url"]);
    key("env:LONG", &["too long"]);
    key(
        "env:AFFINITY_KEY_2026_11",
        &["hold the same key", "2026-11"],
    );
    key("env:", &["has no source"]);
    key("env:1A", &["has no source"]);
    key("file:", &["has no source"]);
    key("vault:x", &["has no source", "ID:env:NAME"]);
    key("file:missing", &["the file missing", "no such file"]);
    key("file:/dev/zero", &["not a regular file"]);
    refused(
        "\"2026-08:",
        "\"2026 08:",
        "pin.keys[1]",
        &["does not begin with an id"],
    );
    refused(
        "\"2026-08:",
        "\"2026-11:",
        "pin.keys[1]",
        &["used twice", "2026-11"],
    );
    refused(
        "keys      = [",
        "keys = []\nx = [",
        "pin.keys",
        &["1 to 16 keys"],
    );
    let many: Vec<_> = (0..17).map(|n| format!("\"k{n}:env:K{n}\"")).collect();
    refused(
        "keys      = [",
        &format!("keys = [{},", many.join(",")),
        "pin.keys",
        &["at most 16"],
    );
}

#[test]
fn a_key_that_stands_in_the_file_itself_is_not_repeated() {
    for place in ["", "a:", "a:env:", "a:file:", "a:hs256:"] {
        let inline = format!("{place}{}", super::KEY_A);
        let listed = MINIMAL.replace("a:env:KEY_A", &inline);
        let bare = MINIMAL.replace("[\"a:env:KEY_A\"]", &format!("\"{inline}\""));
        let errors = [listed, bare].map(|text| read(&text).unwrap_err());
        assert_eq!(errors[0].key_path(), Some("pin.keys[0]"));
        assert_eq!(errors[1].key_path(), Some("pin.keys"));
        let shown = format!("{} {} {errors:?}", errors[0], errors[1]);
        assert!(
            !shown.contains(&super::KEY_A[..6]),
            "a key is shown: {shown}"
        );
    }
}

#[test]
fn a_key_that_still_signs_or_verifies_is_not_dropped() {
    let drop = |ids: &str| format!("drop_early = {ids}\nclock_skew");
    refused(
        "clock_skew",
        &drop("[\"2026-08\"]"),
        "pin.drop_early[0]",
        &["still in pin.keys"],
    );
    refused(
        "clock_skew",
        &drop("[\"a\", \"a\"]"),
        "pin.drop_early[1]",
        &["twice"],
    );
    refused(
        "clock_skew",
        &drop("[\"a b\"]"),
        "pin.drop_early[0]",
        &["1 to 16"],
    );
}

#[test]
fn the_routing_clock_outlasts_the_local_one() {
    let local = |span: &str| format!("local_idle_timeout = \"{span}\"");
    let words = ["(1350s)", "(30m)", "three quarters"];
    refused(
        &local("10m"),
        &local("1350s"),
        "pin.local_idle_timeout",
        &words,
    );
    assert!(read(&edited(&local("10m"), &local("1349s"))).is_ok());
    let words = ["pin.local_idle_timeout (10m)", "pin.idle_ttl (13m)"];
    let error = read(&MINIMAL.replace("[pin]", "[pin]\nidle_ttl = \"13m\"")).unwrap_err();
    assert_eq!(error.key_path(), Some("pin.idle_ttl"));
    assert!(
        words.iter().all(|word| error.to_string().contains(word)),
        "{error}"
    );
}

#[test]
fn lifetimes_that_contradict_each_other_are_told_with_both() {
    let words = ["pin.idle_ttl (5h)", "pin.max_age (4h)"];
    refused(
        "idle_ttl  = \"30m\"",
        "idle_ttl = \"5h\"",
        "pin.idle_ttl",
        &words,
    );
}

#[test]
fn rollback_is_within_max_age() {
    refused(
        "within    = \"10m\"",
        "within = \"5h\"",
        "rollback.within",
        &["(5h)", "(4h)"],
    );
    refused(
        "\"move\"\nwithin",
        "\"fast\"\nwithin",
        "rollback.policy",
        &["\"move\", \"stay\", \"end\""],
    );
}

#[test]
fn a_wrong_value_is_not_held_against_others() {
    // the default that stands in for it may contradict them
    let alone = |text: String, value: &str| {
        let shown = read(&text).unwrap_err().to_string();
        assert!(
            shown.contains(value) && !shown.contains("more problem"),
            "{shown}"
        );
    };
    let late = edited("within    = \"10m\"", "within = \"6h\"");
    alone(late.replace("\"4h\"", "7"), "pin.max_age = 7");
    let slow = edited("\"10m\"\nclock", "\"25m\"\nclock");
    alone(
        slow.replace("idle_ttl  = \"30m\"", "idle_ttl = \"0s\""),
        "pin.idle_ttl = \"0s\"",
    );
    let crossed = edited("127.0.0.1:9090", "127.0.0.1:8080");
    alone(
        crossed.replacen("127.0.0.1:8080", "localhost", 1),
        "listen.address = \"localhost\"",
    );
}

#[test]
fn a_drain_has_to_outlast_its_delay() {
    let with = |lines: &str| read(&format!("{MINIMAL}[listen]\n{lines}")).unwrap_err();
    let told = with("drain = \"5s\"\ndrain_delay = \"5s\"").to_string();
    for part in [
        "listen.drain_delay",
        "\"5s\"",
        "less than listen.drain (5s)",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let told = with("drain_delay = \"25s\"").to_string();
    assert!(told.contains("less than listen.drain (25s)"), "{told}");
    let told = with("drain = \"0s\"").to_string();
    assert!(
        told.contains("listen.drain") && told.contains("from 100ms"),
        "{told}"
    );
}

#[test]
fn there_is_at_least_one_worker_and_no_more_than_machines_have_cores() {
    for workers in [0, 1_025] {
        let text = format!("{MINIMAL}[listen]\nworkers = {workers}");
        let told = read(&text).unwrap_err().to_string();
        for part in ["listen.workers", &workers.to_string(), "1 to 1024"] {
            assert!(told.contains(part), "{told}");
        }
    }
}
