//! What the application says about its session.

use http::{HeaderValue, Response};
use http_body_util::Full;
use tower_affinity::signal::Signal;

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
        "release ",
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
fn what_a_client_says_under_that_name_means_nothing() {
    let site = Site::new();
    let token = site.token("A");
    let cookie = format!("__Host-affinity-checkout={token}");
    let seen = site.get(&[("cookie", &cookie), ("affinity-session", "end")]);
    assert!(seen.is_silent());
}
