//! Scopes, cookies and paths that a browser or a reader would misunderstand.

use tower_affinity::core::OnNavigation;
use tower_affinity::wire::HintSource;

use super::wrong::refused;
use super::{MINIMAL, edited, read};

fn scoped(scopes: &str) -> String {
    format!("{MINIMAL}{scopes}")
}

#[test]
fn a_scope_that_is_never_reached_is_refused_with_both_names() {
    // C013
    for (first, second) in [
        ("/*", "/a"),
        ("/*", "/*"),
        ("/a/*", "/a/b/*"),
        ("/a/*", "/a/b"),
        ("/a", "/a"),
        ("/a/*", "/a/*"),
    ] {
        let scopes = format!("[[scope]]\npath = \"{first}\"\n[[scope]]\npath = \"{second}\"\n");
        let error = read(&scoped(&scopes)).expect_err(&format!("{first} before {second}"));
        assert_eq!(error.key_path(), Some("scope[1].path"));
        let names = [format!("\"{first}\""), format!("\"{second}\"")];
        assert!(
            names.iter().all(|name| error.to_string().contains(name)),
            "{error}"
        );
    }
    for (first, second) in [
        ("/a", "/a/*"),
        ("/a/*", "/a"),
        ("/a/*", "/ab/*"),
        ("/a", "/b"),
    ] {
        let scopes = format!("[[scope]]\npath = \"{first}\"\n[[scope]]\npath = \"{second}\"\n");
        assert!(read(&scoped(&scopes)).is_ok(), "{first} before {second}");
    }
}

#[test]
fn patterns_are_absolute_paths() {
    for bad in [
        "", "a", "*", "/a*", "/*/a", "/a/*/b", "//a/*", "//*", "/a b", "/a?b", "/a#b", "/a/../b",
        "/ä", "/a\\n",
    ] {
        let to = format!("path = \"{bad}\"");
        refused(
            "path      = \"/*\"",
            &to,
            "scope[1].path",
            &["an absolute path"],
        );
    }
}

#[test]
fn a_restart_stays_on_this_host() {
    for bad in [
        "start",
        "//evil.example",
        "/\\\\evil.example",
        "https://evil.example/",
        "/a\\r\\nset-cookie: x=y",
        "/a b",
        "/../a",
        "",
    ] {
        let to = format!("restart_url = \"{bad}\"");
        refused(
            "restart_url = \"/start\"",
            &to,
            "scope[1].restart_url",
            &["absolute path"],
        );
    }
    assert!(read(&edited("\"/start\"", "\"/start?from=moved\"")).is_ok());
}

#[test]
fn keys_of_the_draw_come_from_the_client() {
    for bad in [
        "header:",
        "header:a b",
        "header:cookie",
        "header:affinity-pin",
        "header:Connection",
    ] {
        let to = format!("assign = \"{bad}\"");
        refused(
            "assign    = \"session\"",
            &to,
            "scope[1].assign",
            &["header:NAME"],
        );
    }
    for bad in ["cookie:", "cookie:a b", "cookie:a=b", "cookie:a;b"] {
        let to = format!("assign = \"{bad}\"");
        refused(
            "assign    = \"session\"",
            &to,
            "scope[1].assign",
            &["cookie:NAME"],
        );
    }
    let own = "assign = \"cookie:__Host-affinity-checkout\"";
    refused(
        "assign    = \"session\"",
        own,
        "scope[1].assign",
        &["the pin itself"],
    );
    for bad in ["random", "session:x", ""] {
        let to = format!("assign = \"{bad}\"");
        refused(
            "assign    = \"session\"",
            &to,
            "scope[1].assign",
            &["\"session\"", "\"address\""],
        );
    }
}

#[test]
fn a_setting_without_effect_is_refused() {
    // C111: what is accepted is applied
    for (level, setting, key) in [
        ("none", "assign = \"address\"", "assign"),
        ("follow", "on_gone = \"strict\"", "on_gone"),
        ("connection", "on_step = \"reassign\"", "on_step"),
        ("connection", "restart_url = \"/a\"", "restart_url"),
        ("follow", "cache = \"keep\"", "cache"),
        ("none", "streaming = true", "streaming"),
        ("follow", "propagate = true", "propagate"),
        ("connection", "propagate = true", "propagate"),
    ] {
        let scopes = format!("[[scope]]\npath = \"/*\"\naffinity = \"{level}\"\n{setting}\n");
        let error = read(&scoped(&scopes)).expect_err(setting);
        assert_eq!(error.key_path(), Some(format!("scope[0].{key}").as_str()));
        assert!(error.to_string().contains("has no effect"), "{error}");
    }
}

#[test]
fn a_pin_that_is_handed_on_cannot_name_an_endpoint() {
    let scope = |propagate| {
        scoped(&format!(
            "[[scope]]\npath = \"/*\"\naffinity = \"endpoint\"\npropagate = {propagate}\n"
        ))
    };
    assert!(read(&scope(false)).is_ok());
    let error = read(&scope(true)).expect_err("endpoint with propagate");
    assert_eq!(error.key_path(), Some("scope[0].propagate"));
    let message = error.to_string();
    for part in ["true", "affinity = \"endpoint\"", "accepted: false"] {
        assert!(message.contains(part), "{part} is missing in: {message}");
    }
}

#[test]
fn cookies_that_a_browser_refuses_are_refused() {
    // SEC-22, SEC-28
    let cookie = |attributes: &str, key: &str, words: &[&str]| {
        let to = format!("cookie = {{ {attributes} }}\n#");
        refused("cookie    = ", &to, key, words);
    };
    let site = ["needs secure = true"];
    cookie(
        "secure = false, same_site = \"none\"",
        "pin.cookie.same_site",
        &site,
    );
    let own = ["needs secure = true"];
    cookie(
        "secure = false, partitioned = true",
        "pin.cookie.partitioned",
        &own,
    );
    for name in [
        "__Host-x",
        "__Secure-x",
        "__host-x",
        "__HTTP-x",
        "__Host-Http-x",
    ] {
        let attributes = format!("secure = false, name = \"{name}\"");
        cookie(&attributes, "pin.cookie.name", &["secure = true"]);
    }
    for name in [
        "",
        "a b",
        "a=b",
        "a;b",
        "a\\r\\n",
        "ä",
        "a\\u0000",
        "\\\"a\\\"",
        &"a".repeat(65),
    ] {
        cookie(
            &format!("name = \"{name}\""),
            "pin.cookie.name",
            &["a cookie name is 1 to 64"],
        );
    }
    cookie(
        "domain = \"example.com\"",
        "pin.cookie.domain",
        &["not a known key"],
    );
    cookie(
        "same_site = \"Lax\"",
        "pin.cookie.same_site",
        &["\"strict\", \"lax\", \"none\""],
    );
    for good in [
        "same_site = \"none\"",
        "partitioned = true",
        "secure = false, name = \"x\"",
    ] {
        assert!(
            read(&edited(
                "cookie    = ",
                &format!("cookie = {{ {good} }}\n#")
            ))
            .is_ok(),
            "{good}"
        );
    }
}

#[test]
fn some_carrier_is_left() {
    let carriers = "carriers  = [\"cookie\", \"header\"]";
    refused(
        carriers,
        "carriers = []",
        "pin.carriers",
        &["\"cookie\", \"header\""],
    );
    refused(
        carriers,
        "carriers = [\"query\"]",
        "pin.carriers[0]",
        &["\"cookie\""],
    );
    refused(
        carriers,
        "carriers = [\"cookie\", \"cookie\"]",
        "pin.carriers[1]",
        &["twice"],
    );
}

#[test]
fn a_health_path_is_a_path() {
    refused(
        "\"/livez\"",
        "\"livez\"",
        "upstream.health.path",
        &["an absolute path"],
    );
    refused(
        "\"/livez\"",
        "\"/a\\r\\nHost: x\"",
        "upstream.health.path",
        &["an absolute path", "\\r"],
    );
}

#[test]
fn no_control_character_gets_through_a_message() {
    let hostile = "\"\\u001b[31m\\u202e\\n\"";
    for text in [
        edited("\"checkout\"", hostile),
        edited("[rollback]", &format!("{hostile} = 1\n[rollback]")),
        edited("\"checkout\"", "\"\"\"a\nb\u{202e}\u{200b}\"\"\""),
        edited("service", "\u{1b}[31m"),
        edited("[state]\n", &format!("[state]\n{hostile} = {hostile}\n")),
    ] {
        let shown = read(&text).unwrap_err().to_string();
        let raw = |c: char| c.is_control() || ['\u{202e}', '\u{200b}'].contains(&c);
        assert!(!shown.contains(raw), "{shown:?}");
    }
}

#[test]
fn values_are_cut_at_64_characters() {
    let error = read(&edited(
        "\"checkout\"",
        &format!("\"{}\"", "é".repeat(1 << 16)),
    ))
    .unwrap_err();
    assert_eq!(
        error.shown_value().map(|value| value.chars().count()),
        Some(65),
        "64 and an ellipsis"
    );
    assert!(error.to_string().chars().count() < 1_000);
}

#[test]
fn a_claim_has_a_name() {
    for bad in [
        "claim:",
        "claim:a\\nb",
        &format!("claim:{}", "a".repeat(129)),
    ] {
        let to = format!("assign = \"{bad}\"");
        let from = "assign    = \"session\"";
        refused(from, &to, "scope[1].assign", &["claim:NAME"]);
    }
}

#[test]
fn a_hint_is_a_parameter_or_a_header_of_the_client_and_for_followers_only() {
    let from = "affinity  = \"follow\"";
    for bad in [
        "dpl",
        "query:",
        "query:a b",
        "query:a=b",
        "query:a%20",
        "query:affinity-pin",
        "header:affinity-group",
        "header:cookie",
        "header:a b",
        "cookie:dpl",
    ] {
        let to = format!("{from}\nhint = \"{bad}\"");
        refused(from, &to, "scope[0].hint", &["query:NAME", "header:NAME"]);
    }
    for level in ["none", "connection", "group", "endpoint", "version"] {
        let to = format!("affinity = \"{level}\"\nhint = \"query:dpl\"");
        refused(from, &to, "scope[0].hint", &["no effect", level]);
    }
    for (text, hint) in [
        ("query:dpl", HintSource::Query("dpl".into())),
        (
            "header:X-Commit",
            HintSource::Header("x-commit".parse().unwrap()),
        ),
    ] {
        let settings = read(&edited(from, &format!("{from}\nhint = \"{text}\""))).unwrap();
        assert_eq!(settings.scopes[0].hint, Some(hint));
        assert_eq!(read(&settings.effective()).unwrap(), settings);
    }
}

#[test]
fn a_page_load_moves_sessions_only_where_there_are_some() {
    for level in ["none", "follow", "connection"] {
        let scope = format!(
            "[[scope]]\npath = \"/a/*\"\naffinity = \"{level}\"\non_navigation = \"latest\"\n"
        );
        let error = read(&scoped(&scope)).unwrap_err();
        assert_eq!(error.key_path(), Some("scope[0].on_navigation"));
        assert!(error.to_string().contains("no effect"), "{error}");
    }
    let from = "on_step   = \"keep\"";
    refused(
        from,
        "on_navigation = \"always\"",
        "scope[1].on_navigation",
        &["\"keep\"", "\"latest\""],
    );
    let settings = read(&edited(from, "on_navigation = \"latest\"")).unwrap();
    assert_eq!(settings.scopes[1].on_navigation, OnNavigation::Latest);
    assert_eq!(read(&settings.effective()).unwrap(), settings);
}
