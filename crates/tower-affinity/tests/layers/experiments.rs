//! Arms of experiments, as the application, the endpoint and the metrics see them.

use std::collections::BTreeSet;
use std::sync::Arc;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tower::Layer;
use tower_affinity::core::{Clock, Experiment, Level, RowCodec};
use tower_affinity::experiments::{DrawBy, Experiments};
use tower_affinity::record::Recorder;
use tower_affinity::wire::{AssignBy, PathPattern, Scope};
use tower_affinity::{Arms, GroupTagLayer};
use tower_affinity_testing::store::PlainStore;
use tower_affinity_testing::{name, rollout, weight};

use crate::support::{Browser, K1, Seen, Site, TI, ask, at_once, codec};

fn experiment(name: &str, arms: &[(&str, u64)]) -> Experiment {
    let arms = arms
        .iter()
        .map(|(arm, share)| (arm.parse().unwrap(), weight(*share)));
    Experiment::new(name.parse().unwrap(), arms).unwrap()
}

/// One experiment, `button`, with these weights.
fn button(arms: &[(&str, u64)]) -> Experiments {
    Experiments::new([experiment("button", arms)]).unwrap()
}

fn halves() -> Experiments {
    button(&[("a", 50), ("b", 50)])
}

/// A path in the one scope that there is, with arms where there are experiments.
fn scoped() -> Scope {
    Scope::new("/app/*".parse().unwrap())
}

fn site(experiments: Experiments) -> Site {
    Site::with(|builder| builder.experiments(experiments))
}

/// The arm of `button` that the application was told.
fn arm(seen: &Seen) -> Option<String> {
    let request = seen.forwarded.as_ref().expect("a request that was served");
    let arms: Option<&Arms> = request.extensions().get();
    arms.expect("a layer with experiments")
        .name_of("button")
        .map(str::to_owned)
}

#[test]
fn a_session_has_one_arm_on_every_request() {
    let site = site(halves());
    let mut met = BTreeSet::new();
    for _ in 0..64 {
        let mut browser = Browser::default();
        let first = arm(&browser.get(&site)).expect("a session has an arm");
        let again = browser.get(&site);
        assert_eq!(arm(&again).as_ref(), Some(&first));
        assert!(again.is_silent(), "a pin that has the arm is set again");
        met.insert(first);
    }
    assert_eq!(met.len(), 2, "64 sessions have the arms {met:?}");
}

#[test]
fn changed_weights_move_no_session_between_arms_and_new_sessions_follow_them() {
    let before = site(halves());
    let browsers: Vec<(Browser, String)> = (0..32)
        .map(|_| {
            let mut browser = Browser::default();
            let arm = arm(&browser.get(&before)).unwrap();
            (browser, arm)
        })
        .collect();
    let after = site(button(&[("a", 0), ("b", 0), ("c", 1)]));
    for (mut browser, arm_before) in browsers {
        assert_eq!(arm(&browser.get(&after)), Some(arm_before));
    }
    assert_eq!(arm(&Browser::default().get(&after)).as_deref(), Some("c"));
}

#[test]
fn a_rollout_moves_nobody_between_arms() {
    let site = site(halves());
    for _ in 0..64 {
        let mut browser = Browser::default();
        let first = browser.get(&site);
        if first.affinity().group() != "B" {
            continue;
        }
        let before = arm(&first);
        site.abort("B");
        let moved = browser.get(&site);
        assert_eq!(moved.said(), "moved/aborted@A");
        assert_eq!(arm(&moved), before);
        site.advance(TI / 2);
        let renewed = browser.get(&site);
        assert!(renewed.cookie().is_some(), "it is due");
        assert_eq!(arm(&renewed), before);
        return;
    }
    panic!("no session of 64 was drawn to B");
}

#[test]
fn a_session_from_before_the_experiment_meets_it_with_its_next_request() {
    let site = site(halves());
    let token = site.token("A");
    let seen = site.get_with(&token);
    assert_eq!(seen.said(), "pinned/ok@A");
    let pin = seen.cookie().expect("the pin carries the arm");
    assert_eq!(arm(&site.get_with(&pin)), arm(&seen));
    assert!(site.get_with(&pin).is_silent());
}

#[test]
fn without_a_session_there_is_no_arm() {
    let follow = Scope::new("/static/*".parse().unwrap()).level(Level::Follow);
    let none = Scope::new("/none/*".parse().unwrap()).level(Level::None);
    let drawn = Scope::new("/drawn/*".parse().unwrap()).level(Level::Connection);
    let site = Site::with(|builder| {
        let scoped = builder.scope(follow).scope(none).scope(drawn);
        scoped
            .scope(Scope::new(PathPattern::all()))
            .experiments(halves())
    });
    let withheld = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "cors")];
    let preflight = [("access-control-request-method", "POST")];
    for (what, method, path, headers) in [
        ("follow", "GET", "/static/x", &[][..]),
        ("none", "GET", "/none/x", &[]),
        ("connection", "GET", "/drawn/x", &[]),
        ("withheld", "POST", "/", &withheld),
        ("preflight", "OPTIONS", "/", &preflight),
    ] {
        let seen = site.send(ask(method, path, headers));
        assert_eq!(arm(&seen), None, "{what}");
        assert!(seen.is_silent(), "{what}");
    }
}

#[tokio::test]
async fn a_handler_on_a_path_in_no_scope_is_told_that_there_is_no_arm() {
    let site = Site::with(|builder| builder.scope(scoped()).experiments(halves()));
    let handler = async |arms: Arms| arms.name_of("button").unwrap_or("none").to_owned();
    let app = axum::Router::new()
        .fallback(handler)
        .layer(site.layer.clone());
    for (path, expected) in [("/elsewhere", &["none"][..]), ("/app/x", &["a", "b"])] {
        let request = http::Request::get(path).body(axum::body::Body::empty());
        let response = tower::ServiceExt::oneshot(app.clone(), request.unwrap()).await;
        let response = response.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let body = axum::body::to_bytes(response.into_body(), 64)
            .await
            .unwrap();
        let said = std::str::from_utf8(&body).unwrap();
        assert!(expected.contains(&said), "{path}: {said}");
    }
}

#[test]
fn without_experiments_a_request_carries_no_arms() {
    let site = Site::with(|builder| builder.scope(scoped()));
    for path in ["/elsewhere", "/app/x"] {
        let seen = site.send(ask("GET", path, &[]));
        let request = seen.forwarded.expect("a request that was served");
        assert!(request.extensions().get::<Arms>().is_none(), "{path}");
    }
}

#[test]
fn a_user_has_one_arm_in_all_sessions_that_begin_with_the_users_name() {
    let by_user = |by| halves().drawn_by("button", by).unwrap();
    let header = site(by_user(DrawBy::Header("x-user-id".parse().unwrap())));
    let cookie = site(by_user(DrawBy::Cookie("uid".into())));
    let mut met = BTreeSet::new();
    for user in 0..32 {
        let (name, jar) = (format!("u{user}"), format!("uid=u{user}"));
        let first = arm(&header.get(&[("x-user-id", &name)]));
        assert_eq!(arm(&header.get(&[("x-user-id", &name)])), first, "{name}");
        let by_cookie = arm(&cookie.get(&[("cookie", &jar)]));
        assert_eq!(arm(&cookie.get(&[("cookie", &jar)])), by_cookie, "{name}");
        met.insert(first);
    }
    assert_eq!(met.len(), 2);
    // one that begins before the user is known keeps what it was given
    for _ in 0..16 {
        let mut browser = Browser::default();
        let before = arm(&browser.get(&header));
        let after = browser.ask(&header, "GET", "/", &[("x-user-id", "u1")]);
        assert_eq!(arm(&after), before);
    }
}

#[test]
fn an_experiment_that_is_not_there_cannot_be_drawn_by_anything() {
    let error = halves().drawn_by("buton", DrawBy::Session).unwrap_err();
    assert_eq!(error.to_string(), "there is no experiment \"buton\"");
}

#[test]
fn an_endpoint_is_told_the_arms_and_none_that_a_client_sent() {
    let both = [
        experiment("button", &[("a", 1)]),
        experiment("search", &[("x", 1), ("y", 0)]),
    ];
    let follow = Scope::new("/static/*".parse().unwrap()).level(Level::Follow);
    let site = Site::with(|builder| {
        let scoped = builder.scope(follow).scope(Scope::new(PathPattern::all()));
        scoped.experiments(Experiments::new(both).unwrap())
    });
    let stack = site
        .layer
        .layer(GroupTagLayer::new().layer(site.app.clone()));
    for (path, told) in [("/", Some("button=a, search=x")), ("/static/x", None)] {
        let forged = ask(
            "GET",
            path,
            &[("affinity-arms", "button=b"), ("affinity_arms", "x")],
        );
        at_once(tower::ServiceExt::oneshot(stack.clone(), forged)).unwrap();
        let request = site.app.last().unwrap();
        let lines = request.headers().get_all("affinity-arms").iter();
        let lines: Vec<&str> = lines.map(|line| line.to_str().unwrap()).collect();
        assert_eq!(lines, told.into_iter().collect::<Vec<_>>(), "{path}");
        assert!(!request.headers().contains_key("affinity_arms"), "{path}");
    }
}

/// A site whose metrics are looked at.
fn counted(experiments: Experiments) -> (Site, Snapshotter) {
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let recorder = Recorder::new(Arc::new(recorder));
    let site = Site::with(|builder| builder.experiments(experiments).recorder(recorder));
    (site, seen)
}

/// How many exposures were counted since the last look.
fn exposures(seen: &Snapshotter) -> u64 {
    let series = seen.snapshot().into_vec().into_iter();
    let ours = series.filter(|(key, ..)| key.key().name() == "affinity_exposures_total");
    ours.map(|(key, _, _, value)| {
        let labels: Vec<&str> = key.key().labels().map(metrics::Label::key).collect();
        assert_eq!(labels, ["experiment", "arm"]);
        match value {
            DebugValue::Counter(count) => count,
            other => panic!("{other:?} is no count"),
        }
    })
    .sum()
}

#[test]
fn a_session_is_counted_once_and_a_client_that_returns_no_pin_each_time() {
    let (site, seen) = counted(halves());
    let mut browser = Browser::default();
    for _ in 0..5 {
        browser.get(&site);
    }
    assert_eq!(exposures(&seen), 1, "one session");
    for _ in 0..5 {
        site.get(&[]);
    }
    assert_eq!(exposures(&seen), 5, "five sessions of one request");
    site.get_with(&site.token("A"));
    assert_eq!(exposures(&seen), 1, "a session from before the experiment");
}

#[test]
fn a_session_whose_answer_carries_no_pin_is_counted_with_the_next() {
    let (site, seen) = counted(halves());
    let mut browser = Browser::default();
    site.app.says(304, &[]);
    browser.get(&site);
    assert_eq!(exposures(&seen), 0, "a 304 carries no pin");
    site.app.says(200, &[]);
    browser.get(&site);
    assert_eq!(exposures(&seen), 1);
    // one answer is a whole flow: it was met, though no pin is kept
    site.app.says(200, &[("affinity-session", "end")]);
    Browser::default().get(&site);
    assert_eq!(exposures(&seen), 1, "a flow of one request");
}

#[test]
fn a_store_keeps_the_arms_for_clients_that_keep_nothing() {
    let store = PlainStore::new(RowCodec::new("checkout".parse().unwrap()));
    let user = AssignBy::Header("x-user-id".parse().unwrap());
    let stored = |experiments: Experiments| {
        let clock = Site::new().clock;
        let rollout = rollout(10, &[("A", 90), ("B", 10)]);
        Site::of(clock, rollout, K1, |builder| {
            let scope = Scope::new(PathPattern::all()).assign(user.clone());
            let builder = builder.scope(scope).store(store.clone());
            builder.experiments(experiments)
        })
    };
    let (before, after) = (
        stored(halves()),
        stored(button(&[("a", 0), ("b", 0), ("c", 1)])),
    );
    for user in 0..16 {
        let name = format!("u{user}");
        let first = arm(&before.get(&[("x-user-id", &name)]));
        assert_eq!(arm(&after.get(&[("x-user-id", &name)])), first, "{name}");
    }
    assert_eq!(
        arm(&after.get(&[("x-user-id", "new")])).as_deref(),
        Some("c")
    );
}

#[test]
fn a_peer_shows_the_arm_that_the_session_has_and_counts_nothing() {
    let deciding = site(halves());
    for _ in 0..16 {
        let mut browser = Browser::default();
        let first = browser.get(&deciding);
        let decision = first.affinity().decision();
        let mark = codec("checkout", K1).seal_hop(decision, deciding.clock.now());
        let mark = mark.expect("a decision that a peer can serve");
        let recorder = DebuggingRecorder::new();
        let seen = recorder.snapshotter();
        let peer = Site::with(|builder| {
            let builder = builder.serving(name(first.affinity().group()));
            // its weights would give another arm
            let experiments = button(&[("a", 0), ("b", 0), ("c", 1)]);
            let recorder = Recorder::new(Arc::new(recorder));
            builder.experiments(experiments).recorder(recorder)
        });
        let served = peer.send(ask("GET", "/", &[("affinity-hop", &mark)]));
        assert_eq!(arm(&served), arm(&first));
        assert_eq!(exposures(&seen), 0, "the peer that decided counts it");
    }
}
