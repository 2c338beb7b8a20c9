//! What the application sees of the client's cookies, and the client of the application's.

use http::HeaderValue;
use http::header::COOKIE;
use proptest::prelude::*;
use tower_affinity::core::{Level, Outcomes};
use tower_affinity::wire::Scope;

use crate::support::{COOKIE_NAME, Site, ask};

/// SEC-25, C123: each line keeps its bytes; joining crumbs is up to who forwards them.
#[test]
fn c123_our_cookie_goes_and_every_other_byte_stays() {
    let site = Site::new();
    let token = site.token("B");
    let cases: [(&[&str], &[&[u8]]); 8] = [
        (&["AFF"], &[]),
        (&["a=1; AFF; b=2"], &[b"a=1; b=2"]),
        (&["AFF; a=1"], &[b"a=1"]),
        (&["a=1;AFF;b=2"], &[b"a=1;b=2"]),
        (&["a=1; AFF"], &[b"a=1"]),
        (&["a=1", "AFF", "b=2"], &[b"a=1", b"b=2"]),
        (&[";a=1;; AFF; =x"], &[b";a=1;; =x"]),
        (&["a=\"1; 2\"; AFF; theme"], &[b"a=\"1; 2\"; theme"]),
    ];
    for (sent, expected) in cases {
        let lines: Vec<String> = sent
            .iter()
            .map(|line| line.replace("AFF", &format!("{COOKIE_NAME}={token}")))
            .collect();
        let headers: Vec<_> = lines.iter().map(|line| ("cookie", line.as_str())).collect();
        let seen = site.get(&headers);
        assert_eq!(seen.said(), "pinned/ok@B", "{sent:?}");
        assert_eq!(seen.forwarded("cookie"), expected, "{sent:?}");
    }
}

/// C123, SEC-24.
#[test]
fn c123_bytes_that_are_no_text_survive_and_do_not_hide_the_pin() {
    let site = Site::new();
    let token = site.token("B");
    let mut request = ask("GET", "/", &[]);
    let line = [
        b"a=\xff\x80; ",
        COOKIE_NAME.as_bytes(),
        b"=",
        token.as_bytes(),
        b"; b=\xe9",
    ]
    .concat();
    request
        .headers_mut()
        .insert(COOKIE, HeaderValue::from_bytes(&line).unwrap());
    let seen = site.send(request);
    assert_eq!(seen.said(), "pinned/ok@B");
    assert_eq!(seen.forwarded("cookie"), [b"a=\xff\x80; b=\xe9"]);
}

/// SEC-23, C003, C138.
#[test]
fn c003_look_alikes_are_not_ours_and_pass_untouched() {
    let site = Site::new();
    let token = site.token("B");
    for cookie in [
        format!("x{COOKIE_NAME}={token}"),
        format!("{}={token}", COOKIE_NAME.to_ascii_lowercase()),
        format!("other=x{COOKIE_NAME}={token}"),
        format!("{COOKIE_NAME} ={token}"),
        format!("\"{COOKIE_NAME}\"={token}"),
        format!("={COOKIE_NAME}={token}"),
        COOKIE_NAME.to_owned(),
        format!("affinity-checkout={token}"),
    ] {
        let seen = site.get(&[("cookie", &cookie)]);
        assert!(
            seen.said().starts_with("assigned/new@"),
            "{cookie}: {}",
            seen.said()
        );
        assert_eq!(seen.forwarded("cookie"), [cookie.as_bytes()]);
    }
    let other = format!("{COOKIE_NAME}=OLD; note={token}");
    let seen = site.get(&[("cookie", &other)]);
    assert!(
        seen.said().starts_with("assigned/malformed@"),
        "{}",
        seen.said()
    );
    assert_eq!(
        seen.forwarded("cookie"),
        [format!("note={token}").as_bytes()]
    );
}

/// SEC-24.
#[test]
fn broken_values_are_no_pin_and_leave_the_others_alone() {
    let site = Site::new();
    let token = site.token("B");
    for broken in [
        format!("\"{token}\""),
        format!("{token},x=1"),
        String::new(),
        format!("{token}="),
        format!("%65{token}"),
        format!("{}.", token.replace('.', "")),
    ] {
        let cookie = format!("a=1; {COOKIE_NAME}={broken}; b=2");
        let seen = site.get(&[("cookie", &cookie)]);
        assert_eq!(seen.status(), 200);
        assert_eq!(
            seen.affinity().decision().kind.as_str(),
            "assigned",
            "{broken}"
        );
        assert!(seen.cookie().is_some(), "no fresh pin for {broken}");
        assert_eq!(seen.forwarded("cookie"), [b"a=1; b=2"], "{broken}");
    }
}

/// SEC-25, C107: the pin that a client gets is the one that we made.
#[test]
fn what_the_application_plants_under_our_names_is_removed_and_its_cookies_stay_in_order() {
    let site = Site::new();
    site.app.says(
        200,
        &[
            ("set-cookie", "a=1; Path=/"),
            (
                "set-cookie",
                "__Host-affinity-checkout=evil; Path=/; Secure",
            ),
            ("set-cookie", "b=2"),
            ("set-cookie", " __Host-affinity-checkout =evil"),
            ("set-cookie", "x__Host-affinity-checkout=theirs"),
            ("affinity-pin", "evil"),
        ],
    );
    let token = site.token("A");
    let pinned = site.get_with(&token);
    let theirs = ["a=1; Path=/", "b=2", "x__Host-affinity-checkout=theirs"];
    assert_eq!(pinned.set_cookies(), theirs);
    assert_eq!(pinned.header("affinity-pin"), None);
    let new = site.get(&[]);
    assert_eq!(new.set_cookies()[..3], theirs);
    assert_ne!(new.cookie().as_deref(), Some("evil"));
    let asked = site.get(&[("affinity-pin", "")]);
    assert_ne!(asked.header("affinity-pin"), Some("evil"));
}

/// I12.
#[test]
fn our_names_cross_in_neither_direction_in_any_scope() {
    let levels = [Level::None, Level::Follow, Level::Connection, Level::Group];
    let site = Site::with(|builder| {
        levels
            .iter()
            .enumerate()
            .fold(builder, |builder, (nth, level)| {
                builder.scope(Scope::new(format!("/{nth}/*").parse().unwrap()).level(*level))
            })
    });
    // its pin says already what the application will say
    let token = site.seal(&site.pin("B").turned_out(Outcomes::COMPLETED));
    let cookie = format!("a=1; {COOKIE_NAME}={token}");
    site.app.says(
        200,
        &[
            ("set-cookie", "__Host-affinity-checkout=evil"),
            ("set-cookie", "b=2"),
            ("affinity-pin", "evil"),
            ("affinity-session", "garbage"),
            ("affinity-outcome", "success"),
        ],
    );
    for path in ["/0/x", "/1/x", "/2/x", "/3/x", "/outside"] {
        let seen = site.send(ask(
            "GET",
            path,
            &[("cookie", &cookie), ("affinity-pin", &token)],
        ));
        assert_eq!(seen.forwarded("cookie"), [b"a=1"], "{path}");
        assert!(seen.forwarded("affinity-pin").is_empty(), "{path}");
        assert_eq!(seen.set_cookies(), ["b=2"], "{path}");
        for name in ["affinity-pin", "affinity-session", "affinity-outcome"] {
            assert_eq!(seen.header(name), None, "{path}");
        }
    }
}

proptest! {
    /// SEC-25: whatever stands around it, only our cookie and one separator go.
    #[test]
    fn only_our_cookie_and_one_separator_are_taken_out(
        before in proptest::collection::vec("[ -:<-~]{0,6}", 0..4),
        after in proptest::collection::vec("[ -:<-~]{0,6}", 0..4),
    ) {
        let site = SITE.with(Clone::clone);
        let token = site.token("B");
        let ours = format!(" {COOKIE_NAME}={token}");
        let mut pairs = before.clone();
        pairs.push(ours);
        pairs.extend(after.clone());
        let mut kept = [before.clone(), after].concat();
        if before.is_empty() && let Some(first) = kept.first_mut() {
            *first = first.trim_start().to_owned();
        }
        // a header's value has no white space around it
        let (sent, expected) = (pairs.join(";"), kept.join(";"));
        let expected = expected.trim();
        let seen = site.get(&[("cookie", sent.trim())]);
        prop_assert_eq!(seen.said(), "pinned/ok@B");
        let left: Vec<String> = seen
            .forwarded("cookie")
            .into_iter()
            .map(|line| String::from_utf8(line).unwrap().trim().to_owned())
            .collect();
        let wanted: &[&str] = if expected.is_empty() { &[] } else { &[expected] };
        prop_assert_eq!(left, wanted);
    }
}

thread_local! {
    static SITE: std::rc::Rc<Site> = std::rc::Rc::new(Site::new());
}
