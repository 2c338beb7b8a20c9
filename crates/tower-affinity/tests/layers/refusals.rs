//! Answers that the layer makes itself.

use tower_affinity::CookieAttributes;
use tower_affinity::core::{AbortPolicy, AbortRequest, OnGone};
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity_testing::{ScriptedReadiness, name};

use crate::support::{COOKIE_NAME, Seen, Site, ask};

fn end() -> AbortRequest {
    AbortRequest {
        policy: Some(AbortPolicy::End),
        ..AbortRequest::default()
    }
}

const CLEARED: &str =
    "__Host-affinity-checkout=; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=0";

fn is_problem(seen: &Seen, status: u16, kind: &str) {
    assert_eq!(seen.status(), status);
    assert_eq!(
        seen.header("content-type"),
        Some("application/problem+json")
    );
    assert!(seen.forwarded.is_none(), "a refused request was forwarded");
    let body = seen.body();
    let json: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(json["type"], kind);
    assert_eq!(json["status"], status);
    assert_eq!(
        seen.header("content-length"),
        Some(body.len().to_string().as_str())
    );
}

#[test]
fn a_session_that_was_ended_by_an_abort_is_told_and_its_cookie_cleared() {
    let site = Site::new();
    let token = site.token("B");
    site.abort_with("B", &end());
    let seen = site.get_with(&token);
    is_problem(&seen, 409, "session-ended");
    assert_eq!(seen.said(), "refused/aborted_end@B");
    assert_eq!(seen.set_cookies(), [CLEARED]);
    assert_eq!(seen.header("cache-control"), Some("private"));
    let by_header = site.get(&[("affinity-pin", &token)]);
    is_problem(&by_header, 409, "session-ended");
    assert_eq!(
        by_header.header("affinity-pin"),
        Some(""),
        "cleared by an empty header"
    );
    assert!(by_header.set_cookies().is_empty());
}

/// C091.
#[test]
fn c091_a_strict_scope_refuses_a_session_whose_group_is_gone_and_clears_its_pin() {
    let scope = Scope::new(PathPattern::all()).on_gone(OnGone::Strict);
    let site = Site::with(|builder| builder.scope(scope));
    let token = site.token("B");
    site.change(|rollout, change| rollout.drain(&name("B"), change));
    let seen = site.send(ask(
        "POST",
        "/form",
        &[("cookie", &format!("{COOKIE_NAME}={token}"))],
    ));
    assert_eq!(seen.said(), "pinned/draining@B");
    site.change(|rollout, change| rollout.retire(&name("B"), None, true, change));
    let seen = site.send(ask(
        "POST",
        "/form",
        &[("cookie", &format!("{COOKIE_NAME}={token}"))],
    ));
    is_problem(&seen, 409, "group-gone");
    assert_eq!(seen.set_cookies(), [CLEARED]);
}

#[test]
fn a_cleared_cookie_is_cleared_under_every_attribute_set() {
    let service = "checkout".parse().unwrap();
    let former = vec![
        CookieAttributes::new(&service, false),
        CookieAttributes::new(&service, true).name("old").unwrap(),
    ];
    let site = Site::with(|builder| builder.former_cookies(former));
    let token = site.token("B");
    site.abort_with("B", &end());
    for name in [COOKIE_NAME, "affinity-checkout", "old"] {
        let seen = site.get(&[("cookie", &format!("{name}={token}"))]);
        is_problem(&seen, 409, "session-ended");
        assert_eq!(
            seen.set_cookies(),
            [
                CLEARED,
                "affinity-checkout=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0",
                "old=; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=0",
            ]
        );
    }
}

#[test]
fn a_page_is_sent_to_the_start_of_the_flow_and_everything_else_gets_the_error() {
    let scope = Scope::new(PathPattern::all()).restart_url("/start?again=1");
    let site = Site::with(|builder| builder.scope(scope));
    let cookie = format!("{COOKIE_NAME}={}", site.token("B"));
    site.abort_with("B", &end());
    let ask = |method: &str, headers: &[(&str, &str)]| {
        let headers = [headers, &[("cookie", &cookie)]].concat();
        site.send(ask(method, "/step", &headers))
    };
    let pages = [
        ask("GET", &[("sec-fetch-mode", "navigate")]),
        ask("POST", &[("sec-fetch-mode", "navigate")]),
        ask("GET", &[("accept", "text/html,application/xhtml+xml")]),
    ];
    for seen in pages {
        assert_eq!(
            (seen.status(), seen.header("location")),
            (303, Some("/start?again=1"))
        );
        assert_eq!(seen.set_cookies(), [CLEARED]);
        assert!(seen.forwarded.is_none());
    }
    let others = [
        ask(
            "GET",
            &[("sec-fetch-mode", "cors"), ("accept", "text/html")],
        ),
        ask("POST", &[("accept", "text/html")]),
        ask("GET", &[("accept", "application/json")]),
        ask("GET", &[]),
    ];
    for seen in others {
        is_problem(&seen, 409, "session-ended");
        assert_eq!(seen.header("location"), None);
        assert_eq!(seen.set_cookies(), [CLEARED]);
    }
}

#[test]
fn a_page_without_a_restart_url_gets_the_error() {
    let site = Site::new();
    let cookie = format!("{COOKIE_NAME}={}", site.token("B"));
    site.abort_with("B", &end());
    let seen = site.get(&[("sec-fetch-mode", "navigate"), ("cookie", &cookie)]);
    is_problem(&seen, 409, "session-ended");
}

/// C064: a draining group is no spare for new sessions; C017 for weight 0.
#[test]
fn c064_with_no_group_ready_a_new_session_is_refused_without_a_pin_and_a_pinned_one_is_kept() {
    let view = ScriptedReadiness::default();
    let site = Site::with(|builder| builder.readiness(view.clone()));
    site.change(|rollout, change| rollout.promote(&name("B"), change));
    let token = site.token("A");
    view.down(name("B"), site.pin("A").started);
    let seen = site.get(&[]);
    is_problem(&seen, 503, "no-ready-endpoint");
    assert_eq!(seen.header("retry-after"), Some("1"));
    assert!(seen.is_silent());
    assert_eq!(site.get_with(&token).said(), "pinned/draining@A");
    view.up(&name("B"));
    assert_eq!(site.get(&[]).said(), "assigned/new@B");
}
