//! What a right configuration says.

use std::path::Path;
use std::time::Duration;

use super::super::{GroupState, KeySource, RollbackPolicy, ScopeSetting};
use super::{EXAMPLE, MINIMAL, edited, settings};
use tower_affinity::core::{Level, OnGone, OnNavigation, OnStep};
use tower_affinity::wire::{AssignBy, CachePolicy};
use tower_affinity::{Carrier, SameSite};

use crate::upstream::EndpointProtocol;

#[test]
fn the_documented_example_is_understood() {
    let settings = settings(EXAMPLE);
    assert_eq!(settings.service.as_str(), "checkout");
    assert_eq!(
        settings.listen.admin_token_file,
        Path::new("/etc/affinity/admin.token")
    );
    let ids: Vec<_> = settings
        .pin
        .keys
        .iter()
        .map(|key| key.id.as_str())
        .collect();
    assert_eq!(ids, ["2026-11", "2026-08"]);
    assert_eq!(
        settings.pin.keys[0].source,
        KeySource::Env("AFFINITY_KEY_2026_11".to_owned())
    );
    assert_eq!(settings.pin.clock_skew, Duration::from_secs(300));
    assert_eq!(settings.pin.cookie.name(), "__Host-affinity-checkout");
    assert_eq!(settings.upstream.health.as_ref().unwrap().path, "/livez");
    let weights: Vec<_> = settings
        .groups
        .iter()
        .map(|group| group.weight.get())
        .collect();
    assert_eq!(weights, [90, 10]);
    let stable: Vec<_> = settings.groups.iter().map(|group| group.stable).collect();
    assert_eq!(stable, [true, false]);
    assert_eq!(settings.groups[0].max_in_flight, Some(512));
    let levels: Vec<_> = settings.scopes.iter().map(|scope| scope.affinity).collect();
    assert_eq!(levels, [Level::Follow, Level::Group]);
    assert_eq!(settings.scopes[1].restart_url.as_deref(), Some("/start"));
    assert_eq!(
        settings.state.file,
        Path::new("/etc/affinity/gateway-state.json")
    );
}

#[test]
fn what_is_not_written_has_the_documented_default() {
    let settings = settings(MINIMAL);
    assert_eq!(settings.listen.address.to_string(), "127.0.0.1:8080");
    assert_eq!(settings.listen.admin.to_string(), "127.0.0.1:9090");
    assert_eq!(settings.pin.lifetimes.idle(), Duration::from_secs(30 * 60));
    assert_eq!(
        settings.pin.lifetimes.max_age(),
        Duration::from_secs(4 * 3600)
    );
    assert_eq!(
        settings.pin.clock_skew,
        Duration::ZERO,
        "a file is for one replica"
    );
    assert_eq!(settings.pin.carriers, [Carrier::Cookie, Carrier::Header]);
    assert_eq!(settings.pin.cookie.same_site(), SameSite::Lax);
    assert_eq!(settings.upstream.health, None);
    assert_eq!(settings.rollback.policy, RollbackPolicy::Move);
    let ScopeSetting {
        path,
        affinity,
        assign,
        on_gone,
        on_step,
        on_navigation,
        hint,
        cache,
        streaming,
        propagate,
        restart_url,
        response_timeout,
        idle_timeout,
        total_timeout,
        max_body,
    } = &settings.scopes[0];
    assert_eq!(
        (path.to_string().as_str(), *affinity, *on_gone),
        ("/*", Level::Group, OnGone::Move)
    );
    assert_eq!(
        (assign, *cache, *streaming, *propagate),
        (&AssignBy::Session, CachePolicy::Private, false, false)
    );
    assert_eq!((*on_step, restart_url), (OnStep::Keep, &None));
    assert_eq!((*on_navigation, hint), (OnNavigation::Keep, &None));
    assert_eq!([response_timeout, idle_timeout, total_timeout], [&None; 3]);
    assert_eq!(*max_body, None);
}

#[test]
fn a_scope_has_the_timeouts_of_upstream_but_for_its_own() {
    let text = format!(
        "{MINIMAL}[upstream]\nresponse_timeout = \"7s\"\nidle_timeout = \"8s\"\n\
         total_timeout = \"9s\"\n[[scope]]\npath = \"/a/*\"\nstreaming = true\n\
         [[scope]]\npath = \"/b/*\"\nresponse_timeout = \"1s\"\nidle_timeout = \"2s\"\n\
         total_timeout = \"3s\"\n[[scope]]\npath = \"/*\""
    );
    let settings = settings(&text);
    let limits = settings.scopes.iter().map(|scope| {
        let limits = scope.limits(&settings.upstream);
        let seconds = |span: Option<Duration>| span.map(|span| span.as_secs());
        (
            limits.response.as_secs(),
            seconds(limits.idle),
            seconds(limits.total),
        )
    });
    assert_eq!(
        limits.collect::<Vec<_>>(),
        [
            (7, None, Some(9)),
            (1, Some(2), Some(3)),
            (7, Some(8), Some(9))
        ],
        "streaming, own, none of its own"
    );
}

#[test]
fn a_group_may_speak_another_protocol() {
    let text = edited(
        "connect_timeout = ",
        "protocol = \"h2c\"\nconnect_timeout = ",
    )
    .replace("weight    = 10\n", "weight = 10\nprotocol = \"http1\"\n");
    let settings = settings(&text);
    assert_eq!(settings.upstream.protocol, EndpointProtocol::H2c);
    let own: Vec<_> = settings.groups.iter().map(|group| group.protocol).collect();
    assert_eq!(own, [None, Some(EndpointProtocol::Http1)]);
}

#[test]
fn an_only_group_is_stable_with_weight_1() {
    let settings = settings(MINIMAL);
    let group = &settings.groups[0];
    assert_eq!((group.weight.get(), group.stable), (1, true));
    assert_eq!(group.state, GroupState::Active);
}

#[test]
fn a_weight_that_is_not_written_is_0() {
    let settings = settings(&edited("weight    = 10\n", ""));
    assert_eq!(settings.groups[1].weight.get(), 0);
}

#[test]
fn an_insecure_cookie_has_no_host_prefix() {
    let settings = settings(&edited("secure = true", "secure = false"));
    assert_eq!(settings.pin.cookie.name(), "affinity-checkout");
}

#[test]
fn the_default_deadline_of_stay_is_never_above_max_age() {
    let text =
        edited("max_age   = \"4h\"", "max_age   = \"30m\"").replace("within    = \"10m\"\n", "");
    assert_eq!(settings(&text).rollback.within, Duration::from_secs(600));
    let short = text
        .replace("max_age   = \"30m\"", "max_age = \"5m\"")
        .replace("idle_ttl  = \"30m\"", "idle_ttl = \"5m\"")
        .replace(
            "local_idle_timeout = \"10m\"",
            "local_idle_timeout = \"3m\"",
        );
    assert_eq!(settings(&short).rollback.within, Duration::from_secs(300));
}

#[test]
fn an_aborted_group_names_the_active_one_that_takes_its_sessions() {
    let text = edited(
        "weight    = 10\nstate     = \"active\"",
        "state = \"aborted\"\nabort_to = \"9f1c2ab\"",
    );
    let settings = settings(&text);
    let to = settings.groups[0].name.clone();
    assert_eq!(settings.groups[1].state, GroupState::Aborted { to });
}

#[test]
fn order_and_written_defaults_do_not_matter() {
    // C106: one meaning is one configuration
    let reordered = r#"
        [[group]]
        endpoints = ["127.0.0.1:7001"]
        weight = 1
        state = "active"
        stable = true
        max_in_flight = 7
        name = "9f1c2ab"
        [pin]
        cookie.same_site = "lax"
        cookie.secure = true
        drop_early = []
        keys = ["a:env:KEY_A"]
        [listen]
        trusted_proxies = []
    "#;
    // C106: an empty list is no list
    let text =
        format!("service = 'checkout'\nscope = []\n{reordered}").replace("max_in_flight = 7\n", "");
    assert_eq!(settings(&text), settings(MINIMAL));
}

#[test]
fn every_level_and_every_kind_of_key_is_known() {
    for level in [
        "none",
        "follow",
        "connection",
        "group",
        "endpoint",
        "version",
    ] {
        let text = format!("{MINIMAL}[[scope]]\npath = \"/a\"\naffinity = \"{level}\"\n");
        assert_eq!(settings(&text).scopes.len(), 1, "{level}");
    }
    let assigns = [
        ("session", AssignBy::Session),
        ("address", AssignBy::Address),
        (
            "header:X-User-Id",
            AssignBy::Header("x-user-id".parse().unwrap()),
        ),
        ("cookie:uid", AssignBy::Cookie("uid".into())),
        ("claim:sub", AssignBy::Claim("sub".into())),
        (
            "claim:https://shop.example/user",
            AssignBy::Claim("https://shop.example/user".into()),
        ),
        ("least_loaded", AssignBy::LeastLoaded),
    ];
    for (written, assign) in assigns {
        let store = "[store]\nkind = \"memory\"\n";
        let text = format!("{MINIMAL}[[scope]]\npath = \"/a\"\nassign = \"{written}\"\n{store}");
        assert_eq!(settings(&text).scopes[0].assign, assign, "{written}");
    }
}

#[test]
fn a_pattern_covers_a_path_or_all_below_one() {
    let text = format!(
        "{MINIMAL}[[scope]]\npath = \"/a/*\"\n[[scope]]\npath = \"/b\"\n[[scope]]\npath = \"/*\"\n"
    );
    let settings = settings(&text);
    let first = |path: &str| {
        settings
            .scopes
            .iter()
            .position(|scope| scope.path.matches(path))
    };
    for (path, scope) in [
        ("/a/x", 0),
        ("/a/", 0),
        ("/a", 2),
        ("/ab", 2),
        ("/b", 1),
        ("/b/", 2),
        ("/", 2),
    ] {
        assert_eq!(first(path), Some(scope), "{path}");
    }
}

#[test]
fn port_0_may_be_written_twice() {
    let text = edited("127.0.0.1:8080", "127.0.0.1:0").replace("127.0.0.1:9090", "127.0.0.1:0");
    assert_eq!(settings(&text).listen.admin.port(), 0);
}

#[test]
fn the_keys_make_a_keyring() {
    assert!(settings(EXAMPLE).pin.keyring().is_ok());
}

#[test]
fn a_trailing_newline_belongs_to_no_key() {
    let with = settings(&MINIMAL.replace("KEY_A", "NEWLINE"));
    assert_eq!(
        with.pin.keys[0].secret,
        settings(MINIMAL).pin.keys[0].secret
    );
}

#[test]
fn a_scope_reaches_the_layers_as_it_was_written() {
    let settings = settings(&edited("on_gone   = \"move\"", "on_gone = \"strict\""));
    let [first, second] = [settings.scopes[0].scope(), settings.scopes[1].scope()];
    assert_eq!(
        (first.policy().level, second.policy().level),
        (Level::Follow, Level::Group)
    );
    assert_eq!(
        (first.policy().on_gone, second.policy().on_gone),
        (OnGone::Move, OnGone::Strict)
    );
}
