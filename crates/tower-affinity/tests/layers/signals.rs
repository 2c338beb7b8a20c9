//! What the application says about its session.

use http::{HeaderValue, Response};
use http_body_util::Full;
use tower_affinity::core::{Clock, GroupId, Lifetimes, MoveCause, Revision, SessionPin};
use tower_affinity::signal::Signal;
use tower_affinity_testing::name;

use crate::support::{Browser, Site};

/// C059.
#[test]
fn c059_the_application_ends_a_session_and_its_word_stays_inside() {
    let site = Site::new();
    let token = site.token("A");
    site.app.says(
        200,
        &[("affinity-session", "end"), ("affinity-outcome", "success")],
    );
    let seen = site.get_with(&token);
    assert_eq!(
        seen.set_cookies(),
        ["__Host-affinity-checkout=; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=0"]
    );
    assert_eq!(seen.header("affinity-session"), None);
    assert_eq!(seen.header("affinity-outcome"), None);
    let by_header = site.get(&[("affinity-pin", &token)]);
    assert_eq!(by_header.header("affinity-pin"), Some(""));
    assert!(by_header.set_cookies().is_empty());
}

#[test]
fn an_ended_session_is_a_new_one_with_its_next_request() {
    let site = Site::new();
    let mut browser = Browser::default();
    let first = browser.get(&site).affinity().session();
    site.app.says(200, &[("affinity-session", "end")]);
    assert_eq!(browser.get(&site).affinity().session(), first);
    site.app.says(200, &[]);
    let next = browser.get(&site);
    assert!(next.said().starts_with("assigned/new@"), "{}", next.said());
    assert_ne!(next.affinity().session(), first);
}

#[test]
fn words_that_are_none_are_removed_and_change_nothing() {
    for word in [
        "",
        "garbage",
        "End",
        "END",
        "end, moved-seen",
        "Moved-Seen",
        "Release",
        "released",
    ] {
        let site = Site::new();
        let token = site.token("A");
        let value = HeaderValue::from_str(word).unwrap();
        site.app.answers(move |_| {
            let mut response = Response::new(Full::from("x"));
            response
                .headers_mut()
                .append("affinity-session", value.clone());
            response
        });
        let seen = site.get_with(&token);
        assert!(seen.is_silent(), "{word:?}");
        assert_eq!(seen.header("affinity-session"), None, "{word:?}");
    }
}

#[test]
fn of_several_words_the_end_counts_wherever_it_stands_and_whoever_says_it() {
    let lines: [&'static [(&str, &str)]; 3] = [
        &[
            ("affinity-session", "end"),
            ("affinity-session", "moved-seen"),
        ],
        &[
            ("affinity-session", "moved-seen"),
            ("affinity-session", "end"),
        ],
        &[("affinity-session", "garbage"), ("affinity-session", "end")],
    ];
    for headers in lines {
        let site = Site::new();
        let token = site.token("A");
        site.app.says(200, headers);
        assert_eq!(
            site.get_with(&token).cookie().as_deref(),
            Some(""),
            "{headers:?}"
        );
    }
    let site = Site::new();
    let token = site.token("A");
    site.app.answers(|_| {
        let mut response = Response::new(Full::from("x"));
        response.extensions_mut().insert(Signal::End);
        response
            .headers_mut()
            .insert("affinity-session", HeaderValue::from_static("moved-seen"));
        response
    });
    assert_eq!(
        site.get_with(&token).cookie().as_deref(),
        Some(""),
        "a handler ended it"
    );
}

#[test]
fn a_move_is_told_with_every_request_until_the_application_has_seen_it() {
    let site = Site::new();
    let mut browser = Browser::default();
    browser.0.take(
        &format!("__Host-affinity-checkout={}", site.token("B")),
        site.pin("B").issued,
    );
    site.abort("B");
    let moved = browser.get(&site);
    assert_eq!(moved.said(), "moved/aborted@A");
    for _ in 0..5 {
        site.advance(100);
        let seen = browser.get(&site);
        assert!(seen.said().starts_with("pinned/ok@A"), "{}", seen.said());
        let from = seen
            .affinity()
            .moved_from()
            .expect("the move was forgotten");
        assert_eq!((from.from.label(), from.cause.as_str()), ("B", "aborted"));
    }
    site.app.says(200, &[("affinity-session", "moved-seen")]);
    let told = browser.get(&site);
    assert!(told.affinity().moved_from().is_some());
    let pin = site.open(&told.cookie().expect("the pin without the move"));
    assert_eq!((pin.last_move, pin.moves), (None, 1));
    let after = browser.get(&site);
    assert_eq!(after.said(), "pinned/ok@A");
    assert!(after.affinity().moved_from().is_none());
    assert!(after.is_silent(), "said again, it changes nothing");
}

#[test]
fn a_move_that_is_seen_at_once_is_never_told_again() {
    let site = Site::new();
    let token = site.token("B");
    site.abort("B");
    site.app.says(200, &[("affinity-session", "moved-seen")]);
    let seen = site.get_with(&token);
    assert_eq!(seen.said(), "moved/aborted@A");
    assert!(
        seen.affinity().moved_from().is_some(),
        "not even the moving request knew"
    );
    let pin = site.open(&seen.cookie().unwrap());
    assert_eq!((pin.last_move, pin.moves), (None, 1));
}

#[test]
fn c119_a_hundred_safe_points_move_a_session_once_and_only_while_its_group_drains() {
    let site = Site::new();
    let mut browser = Browser::default();
    let token = format!("__Host-affinity-checkout={}", site.token("B"));
    browser.0.take(&token, site.pin("B").issued);
    site.app.says(200, &[("affinity-session", "release")]);
    for _ in 0..3 {
        let seen = browser.get(&site);
        assert_eq!(seen.said(), "pinned/ok@B");
        assert!(seen.is_silent(), "there is nothing to leave for");
        assert_eq!(seen.header("affinity-session"), None);
    }
    site.change(|rollout, change| rollout.drain(&name("B"), change));
    let safe = browser.get(&site);
    assert_eq!(safe.said(), "pinned/draining@B");
    let let_go = site.open(&safe.cookie().expect("the pin with the word"));
    assert!(let_go.released && let_go.revision == site.revision());
    let mut moves = 0;
    for _ in 0..100 {
        let seen = browser.get(&site);
        moves += usize::from(seen.said() == "moved/released@A");
        assert!(seen.said().ends_with("@A"), "{}", seen.said());
        let from = seen.affinity().moved_from().expect("the move is told");
        assert_eq!((from.from.label(), from.cause.as_str()), ("B", "released"));
    }
    assert_eq!(moves, 1);
}

#[test]
fn a_session_that_was_let_go_stays_once_its_group_takes_sessions_again() {
    let site = Site::new();
    site.change(|rollout, change| rollout.drain(&name("B"), change));
    site.app.says(200, &[("affinity-session", "release")]);
    let token = site.get_with(&site.token("B")).cookie().unwrap();
    site.app.says(200, &[]);
    site.change(|rollout, change| rollout.promote(&name("B"), change));
    let held = site.get_with(&token);
    assert_eq!(held.said(), "pinned/ok@B");
    let token = held.cookie().expect("an answer without the word");
    assert!(!site.open(&token).released);
    site.change(|rollout, change| rollout.promote(&name("A"), change));
    assert_eq!(site.get_with(&token).said(), "pinned/draining@B");
}

#[test]
fn a_safe_point_and_a_move_that_was_seen_count_together() {
    let site = Site::new();
    let moved = site.pin("E").moved(
        GroupId::new(name("B"), 1),
        MoveCause::Gone,
        site.revision(),
        site.clock.now(),
        Lifetimes::default(),
    );
    site.change(|rollout, change| rollout.drain(&name("B"), change));
    site.app.answers(|_| {
        let mut response = Response::new(Full::from("x"));
        response.extensions_mut().insert(Signal::Release);
        let seen = HeaderValue::from_static("moved-seen");
        response.headers_mut().insert("affinity-session", seen);
        response
    });
    let seen = site.get_with(&site.seal(&moved));
    let pin = site.open(&seen.cookie().unwrap());
    assert_eq!((pin.released, pin.last_move), (true, None));
}

#[test]
fn a_safe_point_on_a_pin_that_is_newer_than_the_state_changes_nothing() {
    let site = Site::new();
    site.change(|rollout, change| rollout.drain(&name("B"), change));
    let newer = SessionPin {
        revision: Revision(site.revision().0 + 5),
        ..site.pin("B")
    };
    // the only source of the state: a newer pin raises its revision, and the next is not above it
    site.app.says(200, &[("affinity-session", "release")]);
    let behind = site.get_with(&site.seal(&newer));
    assert_eq!(behind.said(), "pinned/behind@B");
    assert!(behind.is_silent());
}

#[test]
fn what_a_client_says_under_that_name_means_nothing() {
    let site = Site::new();
    let token = site.token("A");
    let cookie = format!("__Host-affinity-checkout={token}");
    let seen = site.get(&[("cookie", &cookie), ("affinity-session", "end")]);
    assert!(seen.is_silent());
}
