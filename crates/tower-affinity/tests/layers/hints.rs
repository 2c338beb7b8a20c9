//! Unsigned hints of pages, and the word that tells a page to load itself anew.

use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use tower_affinity::core::{AbortPolicy, AbortRequest, Level, OnGone, Revision};
use tower_affinity::wire::{HintSource, PathPattern, Scope};
use tower_affinity_testing::{ScriptedReadiness, name};

use crate::support::{COOKIE_NAME, Seen, Site, ask};

/// Assets name their commit in `?dpl=`, calls in a header; A (stable), B and D are active, C drains,
/// S is staged.
fn site() -> Site {
    let by_header = HintSource::Header("x-commit".parse().unwrap());
    let site = Site::with(|builder| {
        builder
            .scope(follow("/static/*", HintSource::Query("dpl".into())))
            .scope(follow("/read/*", by_header))
            .scope(Scope::new(PathPattern::all()))
    });
    for (group, weight) in [("C", 1), ("S", 0)] {
        let weight = tower_affinity_testing::weight(weight);
        site.change(|rollout, change| rollout.register(&name(group), weight, change));
    }
    site.change(|rollout, change| rollout.drain(&name("C"), change));
    site
}

fn follow(path: &str, hint: HintSource) -> Scope {
    Scope::new(path.parse().unwrap())
        .level(Level::Follow)
        .hint(hint)
}

fn asset(site: &Site, query: &str, token: Option<&str>) -> Seen {
    let cookie = token.map(|token| format!("{COOKIE_NAME}={token}"));
    let headers: Vec<_> = cookie
        .iter()
        .map(|text| ("cookie", text.as_str()))
        .collect();
    site.send(ask("GET", &format!("/static/app.js{query}"), &headers))
}

/// C038, C116.
#[test]
fn c038_an_asset_is_served_by_the_commit_that_its_page_names() {
    let site = site();
    for group in ["A", "B", "C"] {
        let seen = asset(&site, &format!("?v=1&dpl={group}"), None);
        assert_eq!(seen.said(), format!("bypassed/follow@{group}"));
        assert!(seen.is_silent(), "a hint opens no session");
        assert_eq!(seen.affinity().session(), None);
        assert_eq!(seen.header("affinity-reload"), None);
        let forwarded = seen.forwarded.unwrap();
        let query = forwarded.uri().query();
        assert_eq!(
            query,
            Some(format!("v=1&dpl={group}").as_str()),
            "it goes on"
        );
    }
    let pinned = asset(&site, "?dpl=C", Some(&site.token("B")));
    assert_eq!(
        pinned.said(),
        "bypassed/follow@C",
        "the page knows better than the cookie"
    );
    assert!(pinned.is_silent());
}

/// C116.
#[test]
fn c116_a_hint_reaches_no_group_that_is_staged_or_withdrawn() {
    let site = site();
    site.abort("B");
    for hint in ["S", "B", "Z", "a%20b", "", "..%2f", "none"] {
        let seen = asset(&site, &format!("?dpl={hint}"), None);
        assert_eq!(seen.said(), "bypassed/follow@A", "{hint}");
        let seen = asset(&site, &format!("?dpl={hint}"), Some(&site.token("C")));
        assert_eq!(seen.said(), "bypassed/follow@C", "{hint}: the pin is next");
    }
    for query in ["?dpl=C&dpl=C", "?dpl=C&dpl=A", "?dpl=A&x=1&dpl=C"] {
        assert_eq!(
            asset(&site, query, None).said(),
            "bypassed/follow@A",
            "{query}"
        );
    }
}

#[test]
fn a_group_whose_sessions_stay_for_now_can_be_hinted_at_until_the_deadline() {
    let site = site();
    let until = site
        .pin("A")
        .issued
        .plus(std::time::Duration::from_secs(60));
    let stay = AbortRequest {
        policy: Some(AbortPolicy::Stay { until }),
        ..AbortRequest::default()
    };
    site.abort_with("B", &stay);
    assert_eq!(asset(&site, "?dpl=B", None).said(), "bypassed/follow@B");
    site.advance(60);
    let seen = asset(&site, "?dpl=B", None);
    assert_eq!(seen.said(), "bypassed/follow@A");
    assert_eq!(seen.header("affinity-reload"), Some("group-gone"));
}

#[test]
fn only_a_get_or_a_head_of_a_scope_that_names_it_has_a_hint() {
    let site = site();
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        let seen = site.send(ask(method, "/static/app.js?dpl=C", &[]));
        assert_eq!(seen.said(), "bypassed/follow@A", "{method}");
        assert_eq!(seen.header("cache-control"), None, "{method}");
    }
    assert_eq!(
        site.send(ask("HEAD", "/static/x?dpl=C", &[])).said(),
        "bypassed/follow@C"
    );
    // neither in other places of the request nor in other scopes
    let line = site.send(ask("GET", "/static/x", &[("dpl", "C"), ("x-commit", "C")]));
    assert_eq!(line.said(), "bypassed/follow@A");
    let flow = site.send(ask("GET", "/step?dpl=C", &[("x-commit", "C")]));
    assert!(flow.said().starts_with("assigned/new@"), "{}", flow.said());
    assert_ne!(flow.affinity().group(), "C");
}

#[test]
fn a_hint_in_a_header_tells_caches_apart_what_it_makes_different() {
    let site = site();
    site.app.says(
        200,
        &[("cache-control", "public, max-age=600"), ("vary", "accept")],
    );
    let read = |lines: &[(&str, &str)]| site.send(ask("GET", "/read/prices", lines));
    for (lines, group) in [(&[][..], "A"), (&[("x-commit", "C")], "C")] {
        let seen = read(lines);
        assert_eq!(seen.affinity().group(), group);
        let vary: Vec<_> = seen.response.headers().get_all("vary").iter().collect();
        assert_eq!(vary, ["accept", "x-commit"], "also where none is sent");
        assert_eq!(seen.header("cache-control"), Some("public, max-age=600"));
        assert_eq!(seen.forwarded("x-commit").len(), lines.len(), "it goes on");
    }
    let twice = read(&[("x-commit", "C"), ("x-commit", "C")]);
    assert_eq!(twice.affinity().group(), "A");
    assert_eq!(twice.header("cache-control"), Some("no-store"));
}

/// A cache would keep them under the name of a commit that they are not of.
#[test]
fn an_answer_of_another_commit_than_the_hint_names_is_kept_out_of_caches() {
    let ready = ScriptedReadiness::default();
    let by = ready.clone();
    let site = Site::with(|builder| {
        let scope = follow("/static/*", HintSource::Query("dpl".into()));
        builder.scope(scope).readiness(by)
    });
    site.app.says(
        200,
        &[("cache-control", "public, max-age=31536000, immutable")],
    );
    let control = |query: &str| {
        let seen = asset(&site, query, None);
        seen.header("cache-control").map(str::to_owned)
    };
    let public = Some("public, max-age=31536000, immutable".to_owned());
    let none = Some("no-store".to_owned());
    assert_eq!(control("?dpl=B"), public);
    assert_eq!(control(""), public, "no hint was sent");
    assert_eq!(control("?dpl=Z"), none);
    assert_eq!(control("?dpl=B&dpl=B"), none);
    ready.down(name("B"), site.pin("A").issued);
    let seen = asset(&site, "?dpl=B", None);
    assert_eq!(seen.said(), "bypassed/follow@A");
    assert_eq!(
        seen.header("cache-control"),
        Some("no-store"),
        "B comes back in a moment"
    );
    assert_eq!(
        seen.header("affinity-reload"),
        None,
        "and a reload would not help"
    );
}

/// C038.
#[test]
fn c038_a_page_whose_commit_is_gone_is_told_to_load_itself_anew() {
    let site = site();
    let told = |query: &str, token: Option<&str>| {
        let seen = asset(&site, query, token);
        seen.header("affinity-reload").map(str::to_owned)
    };
    let gone = Some("group-gone".to_owned());
    assert_eq!(told("?dpl=B", None), None);
    let token = site.token("B");
    site.abort("B");
    assert_eq!(told("?dpl=B", None), gone);
    assert_eq!(told("?dpl=long-forgotten", None), gone);
    assert_eq!(told("?dpl=S", None), gone, "as if there were none");
    assert_eq!(told("", Some(&token)), gone, "by its session");
    assert_eq!(
        told("?dpl=A", Some(&token)),
        None,
        "the page is of A already"
    );
    assert_eq!(told("", None), None);
    assert_eq!(told("?dpl=B&dpl=B", None), None, "that is no hint");
    let newer = tower_affinity::core::SessionPin {
        revision: Revision(site.revision().0 + 5),
        ..site.pin("not-known-here-yet")
    };
    assert_eq!(
        told("", Some(&site.seal(&newer))),
        None,
        "a newer state may know it"
    );
}

/// C091.
#[test]
fn c091_a_fetch_whose_session_was_ended_is_told_to_load_its_page_anew() {
    let strict = Scope::new(PathPattern::all()).on_gone(OnGone::Strict);
    let site = Site::with(|builder| builder.scope(strict.restart_url("/start")));
    let cookie = format!("{COOKIE_NAME}={}", site.token("B"));
    let send = |mode: &str| {
        let lines = [("cookie", cookie.as_str()), ("sec-fetch-mode", mode)];
        let seen = site.send(ask("POST", "/form", &lines));
        (
            seen.status(),
            seen.header("affinity-reload").map(str::to_owned),
        )
    };
    let end = AbortRequest {
        policy: Some(AbortPolicy::End),
        ..AbortRequest::default()
    };
    site.abort_with("B", &end);
    assert_eq!(send("cors"), (409, Some("session-ended".to_owned())));
    assert_eq!(
        send("navigate"),
        (303, None),
        "the browser goes to the start by itself"
    );
    let gone =
        Site::with(|builder| builder.scope(Scope::new(PathPattern::all()).on_gone(OnGone::Strict)));
    let seen = gone.get_with(&gone.token("never-there"));
    assert_eq!(
        (seen.status(), seen.header("affinity-reload")),
        (409, Some("group-gone"))
    );
}

#[test]
fn a_fetch_that_moves_its_session_is_told_so_and_a_page_load_is_not() {
    let site = Site::new();
    let cookie = format!("{COOKIE_NAME}={}", site.token("B"));
    let send = |lines: &[(&str, &str)]| {
        let lines = [&[("cookie", cookie.as_str())], lines].concat();
        let seen = site.get(&lines);
        (
            seen.said(),
            seen.header("affinity-reload").map(str::to_owned),
        )
    };
    assert_eq!(
        send(&[("sec-fetch-mode", "cors")]),
        ("pinned/ok@B".to_owned(), None)
    );
    site.abort("B");
    let moved = || "moved/aborted@A".to_owned();
    for fetch in [
        &[("sec-fetch-mode", "cors")][..],
        &[("sec-fetch-mode", "same-origin")],
        &[],
    ] {
        assert_eq!(
            send(fetch),
            (moved(), Some("moved".to_owned())),
            "{fetch:?}"
        );
    }
    for page in [
        &[("sec-fetch-mode", "navigate")][..],
        &[("accept", "text/html")],
    ] {
        assert_eq!(send(page), (moved(), None), "{page:?}");
    }
    // an answer that we made moves nobody yet
    site.app
        .answers(|_| tower_affinity::Problem::NoReadyEndpoint.response("down"));
    assert_eq!(send(&[("sec-fetch-mode", "cors")]), (moved(), None));
}

#[test]
fn hints_and_reloads_are_counted_and_no_name_that_a_client_sent_is_a_label() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        let site = site();
        for query in [
            "?dpl=B",
            "?dpl=C",
            "?dpl=evil-name",
            "?dpl=S",
            "?dpl=%00",
            "?dpl=B&dpl=B",
            "",
        ] {
            asset(&site, query, None);
        }
    });
    let mut counted = Vec::new();
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        let key = key.key();
        let DebugValue::Counter(count) = value else {
            continue;
        };
        let labels: Vec<_> = key.labels().map(|label| label.value().to_owned()).collect();
        assert!(
            !labels.iter().any(|label| label.contains("evil")),
            "{labels:?}"
        );
        if ["affinity_hints_total", "affinity_reloads_asked_total"].contains(&key.name()) {
            counted.push((labels.concat(), count));
        }
    }
    counted.sort();
    let expected = [
        ("gone", 2),
        ("group-gone", 2),
        ("malformed", 2),
        ("served", 2),
    ];
    assert_eq!(
        counted,
        expected.map(|(label, count)| (label.to_owned(), count))
    );
}
