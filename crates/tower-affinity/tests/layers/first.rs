//! The pin of a session: its first cookie, its renewals, its end.

use std::time::Duration;

use tower_affinity::CookieAttributes;
use tower_affinity::core::{Clock, GroupRef, Lifetimes};

use crate::support::{Browser, COOKIE_NAME, Site, TA, TI};

#[test]
fn a_new_session_gets_exactly_one_cookie_with_exactly_these_attributes() {
    let site = Site::new();
    let seen = site.get(&[]);
    let token = seen.cookie().expect("a pin");
    assert_eq!(
        seen.set_cookies(),
        [format!(
            "{COOKIE_NAME}={token}; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=1800"
        )]
    );
    assert_eq!(
        seen.header("affinity-pin"),
        None,
        "the header was not asked for"
    );
    let pin = site.open(&token);
    assert_eq!(seen.affinity().session(), Some(pin.session));
    assert_eq!(pin.group.label(), seen.affinity().group());
    assert_eq!(
        (
            pin.started,
            pin.issued,
            pin.revision,
            pin.assigned,
            pin.moves
        ),
        (
            site.clock.now(),
            site.clock.now(),
            site.revision(),
            site.revision(),
            0
        )
    );
}

#[test]
fn max_age_is_what_is_left_until_the_pin_ends() {
    let site = Site::new();
    site.clock.advance(Duration::from_millis(900));
    let seen = site.get(&[]);
    // the pin carries whole seconds and begins 0.9 s ago
    assert!(
        seen.set_cookies()[0].ends_with("; Max-Age=1799"),
        "{:?}",
        seen.set_cookies()
    );
}

#[test]
fn without_tls_the_cookie_has_the_plain_name_and_is_not_secure() {
    let plain = CookieAttributes::new(&"checkout".parse().unwrap(), false);
    let site = Site::with(|builder| builder.cookie(plain));
    let seen = site.get(&[]);
    let line = seen.set_cookies()[0];
    assert!(line.starts_with("affinity-checkout="), "{line}");
    assert!(
        line.ends_with("; HttpOnly; SameSite=Lax; Path=/; Max-Age=1800"),
        "{line}"
    );
}

#[test]
fn a_pinned_session_gets_no_cookie_until_a_quarter_of_its_idle_time_is_used() {
    let site = Site::new();
    let mut browser = Browser::default();
    let first = site.open(&browser.get(&site).cookie().unwrap());
    site.advance(TI / 4 - 1);
    let early = browser.get(&site);
    assert!(
        early.is_silent(),
        "renewed too early: {:?}",
        early.set_cookies()
    );
    assert!(early.said().starts_with("pinned/ok@"), "{}", early.said());
    site.advance(1);
    let renewed = site.open(&browser.get(&site).cookie().expect("a renewal"));
    assert_eq!(renewed.session, first.session);
    assert_eq!(
        renewed.started, first.started,
        "a renewal moved the session's start"
    );
    assert_eq!(renewed.issued, site.clock.now());
    assert_eq!(
        renewed.expires,
        site.clock.now().plus(Duration::from_secs(TI))
    );
    assert_eq!((renewed.moves, renewed.assigned), (0, first.assigned));
}

/// C113. Renewed once a quarter of the idle time is used, where the case waits for a half.
#[test]
fn c113_idle_ttl_is_refreshed_by_use() {
    let lifetimes = Lifetimes::new(Duration::from_secs(40), Duration::from_secs(TA)).unwrap();
    let site = Site::with(|builder| builder.lifetimes(lifetimes));
    let mut browser = Browser::default();
    let group = browser.get(&site).affinity().group().to_owned();
    for _ in 0..3 {
        site.advance(30);
        assert_eq!(browser.get(&site).said(), format!("pinned/ok@{group}"));
    }
    let mut writes = 0;
    for _ in 0..40 {
        site.advance(1);
        writes += usize::from(!browser.get(&site).is_silent());
    }
    assert!(writes <= 4, "{writes} renewals in 40 seconds");
}

/// C057. Past a limit the session is a new one (`assigned`), where the case says moved.
#[test]
fn c057_use_keeps_a_session_until_its_whole_life_is_over_and_no_longer() {
    let site = Site::new();
    let mut browser = Browser::default();
    let first = browser.get(&site).affinity().session();
    for _ in 1..TA / 600 {
        site.advance(600);
        let seen = browser.get(&site);
        assert_eq!(seen.affinity().session(), first, "{}", seen.said());
    }
    let last = browser.token().to_owned();
    site.advance(600);
    let seen = site.get_with(&last);
    assert!(
        seen.said().starts_with("assigned/expired_max@"),
        "{}",
        seen.said()
    );
    assert_ne!(seen.affinity().session(), first);
}

/// C057.
#[test]
fn c057_a_session_that_is_not_used_ends_after_its_idle_time() {
    let site = Site::new();
    let token = site.get(&[]).cookie().unwrap();
    site.advance(TI - 1);
    assert!(site.get_with(&token).said().starts_with("pinned/ok@"));
    site.advance(1);
    assert!(
        site.get_with(&token)
            .said()
            .starts_with("assigned/expired_idle@")
    );
}

/// SEC-07.
#[test]
fn hoarding_a_pin_keeps_an_old_commit_for_its_whole_life_and_not_after_its_abort() {
    let site = Site::new();
    let (start, mut token) = (site.clock.now(), site.token("A"));
    for minute in 1..TA / 60 {
        site.advance(60);
        if minute == 60 {
            site.change(|rollout, change| rollout.promote(&"B".parse().unwrap(), change));
        }
        let seen = site.get_with(&token);
        assert_eq!(
            seen.affinity().group(),
            "A",
            "minute {minute}: {}",
            seen.said()
        );
        token = seen.cookie().unwrap_or(token);
        assert_eq!(
            site.open(&token).started,
            start,
            "a renewal moved the session's start"
        );
    }
    site.abort("A");
    let seen = site.get_with(&token);
    assert_eq!(seen.said(), "moved/aborted@B");
}

/// C053.
#[test]
fn c053_two_parallel_renewals_are_both_valid_and_of_one_session() {
    let site = Site::new();
    let token = site.token("A");
    site.advance(TI / 2);
    let (one, two) = (site.get_with(&token), site.get_with(&token));
    let pins = [one, two].map(|seen| site.open(&seen.cookie().expect("a renewal")));
    assert_eq!(pins[0], pins[1], "parallel renewals differ");
    assert_eq!(
        pins[0].group,
        GroupRef::Known(site.pin("A").group.known().unwrap().clone())
    );
}

/// C132. At most 512 bytes by rules, where the case says 256.
#[test]
fn c132_the_pin_does_not_grow_by_renewals() {
    let day = Duration::from_secs(1_000_000_000);
    let lifetimes = Lifetimes::new(Duration::from_secs(40), day).unwrap();
    let site = Site::with(|builder| builder.lifetimes(lifetimes));
    let mut token = site.get(&[]).cookie().unwrap();
    let length = token.len();
    for _ in 0..2_000 {
        site.advance(10);
        token = site.get_with(&token).cookie().expect("a renewal");
        assert_eq!(token.len(), length);
    }
    assert!(COOKIE_NAME.len() + 1 + length <= 512, "{length} bytes");
}
