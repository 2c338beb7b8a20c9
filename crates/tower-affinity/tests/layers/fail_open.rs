//! A bad pin is served like none: same status, same body, same distribution.

use std::time::Duration;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use proptest::prelude::*;
use tower_affinity::core::{Clock, SessionPin};

use crate::support::{COOKIE_NAME, K1, K2, Seen, Site, TA, TI, ask, codec};

/// Every fault, and a token that has it.
fn faulty(site: &Site) -> Vec<(&'static str, String)> {
    let pin = site.pin("B");
    let valid = site.seal(&pin);
    let sealed = |keys: &str, pin: &SessionPin| codec("checkout", keys).seal(pin).token;
    let earlier = |back: u64| {
        let at = tower_affinity::core::Timestamp::from_secs(site.clock.now().as_secs() - back);
        SessionPin {
            started: at,
            issued: at,
            expires: at.plus(Duration::from_secs(TI)),
            ..pin.clone()
        }
    };
    let ahead = SessionPin {
        issued: pin.issued.plus(Duration::from_secs(7_200)),
        ..pin.clone()
    };
    let other_secret = K2.replace("k2:", "k1:");
    let jwt = jsonwebtoken::encode(
        &Header::new(Algorithm::HS256),
        &serde_json::json!({ "sub": "somebody", "exp": 4_000_000_000_u64 }),
        &EncodingKey::from_secret(&[7; 32]).unwrap(),
    );
    vec![
        ("malformed", "127.0.0.1:22".to_owned()),
        ("wrong_type", jwt.unwrap()),
        ("bad_signature", sealed(&other_secret, &pin)),
        ("unknown_key", sealed(K2, &pin)),
        ("wrong_audience", codec("search", K1).seal(&pin).token),
        ("from_future", site.seal(&ahead)),
        ("expired_idle", site.seal(&earlier(TI))),
        ("expired_max", site.seal(&earlier(TA))),
        ("oversize", format!("{valid}{}", "A".repeat(600))),
        (
            "duplicates",
            [valid.as_str(); 5].join(&format!("; {COOKIE_NAME}=")),
        ),
    ]
}

fn with(site: &Site, token: &str) -> Seen {
    site.get_with(token)
}

/// I7, SEC-02, SEC-03, SEC-08, SEC-10.
#[test]
fn every_fault_is_served_as_without_a_pin_and_its_cause_is_told() {
    let site = Site::new();
    for status in [200, 404, 500] {
        site.app.says(status, &[("x-app", "1")]);
        let plain = site.get(&[]);
        for (fault, token) in faulty(&site) {
            let seen = with(&site, &token);
            let group = seen.affinity().group().to_owned();
            assert_eq!(seen.said(), format!("assigned/{fault}@{group}"));
            assert_eq!(
                (seen.status(), seen.body()),
                (plain.status(), plain.body()),
                "{fault}"
            );
            let names = |seen: &Seen| -> Vec<String> {
                seen.response
                    .headers()
                    .keys()
                    .map(ToString::to_string)
                    .collect()
            };
            assert_eq!(names(&seen), names(&plain), "{fault}");
            assert!(seen.forwarded("cookie").is_empty(), "{fault} was forwarded");
            let fresh = site.open(&seen.cookie().expect("a fresh pin"));
            assert_eq!((fresh.group.label(), fresh.moves), (group.as_str(), 0));
            assert_ne!(
                fresh.session,
                site.pin("B").session,
                "{fault}: its session was believed"
            );
        }
    }
}

/// I7, SEC-02: all faulty pins name B, which has a tenth of the weight and gets no more.
#[test]
fn faulty_pins_do_not_change_the_distribution() {
    const DRAWS: u32 = 5_000;
    let site = Site::new();
    let faults = faulty(&site);
    let plain: Vec<Seen> = (0..DRAWS).map(|_| site.get(&[])).collect();
    let drawn = DRAWS / u32::try_from(faults.len()).unwrap();
    let mut all_faulty = Vec::new();
    for (fault, token) in faults {
        let seen: Vec<Seen> = (0..drawn).map(|_| with(&site, &token)).collect();
        let chi = chi_square(&plain, &seen);
        assert!(chi < 19.5, "{fault}: chi-square {chi}");
        all_faulty.extend(seen);
    }
    let chi = chi_square(&plain, &all_faulty);
    assert!(chi < 19.5, "all faults: chi-square {chi}");
}

/// How far the shares of B are apart: one degree of freedom, and 19.5 is passed by chance once in
/// 100,000 runs.
fn chi_square(one: &[Seen], two: &[Seen]) -> f64 {
    let count = |seen: &[Seen]| {
        let b = seen
            .iter()
            .filter(|seen| seen.affinity().group() == "B")
            .count();
        [b, seen.len() - b].map(|count| f64::from(u32::try_from(count).unwrap()))
    };
    let rows = [count(one), count(two)];
    let all: f64 = rows.iter().flatten().sum();
    let cell = |row: &[f64; 2], column: usize| {
        let expected = (row[0] + row[1]) * (rows[0][column] + rows[1][column]) / all;
        (row[column] - expected).powi(2) / expected
    };
    rows.iter().map(|row| cell(row, 0) + cell(row, 1)).sum()
}

/// SEC-20: a signed pin to a group outside the rollout leads nowhere but to the draw.
#[test]
fn a_signed_group_that_is_not_there_is_moved_by_weights_and_named_unknown() {
    let site = Site::new();
    let token = site.token("debug");
    let seen = site.get_with(&token);
    assert_eq!(seen.affinity().decision().cause.as_str(), "gone");
    assert_eq!(
        seen.affinity().moved_from().unwrap().from.label(),
        "unknown"
    );
    let again = site.get_with(&token);
    assert_eq!(
        again.affinity().group(),
        seen.affinity().group(),
        "drawn by the session's id"
    );
}

proptest! {
    /// I6, SEC-04: whatever the bytes, in whatever carrier, it is a request without a pin.
    #[test]
    fn bytes_that_we_did_not_sign_are_no_pin(
        bytes in proptest::collection::vec(prop_oneof![Just(9_u8), 32..=126_u8, 128..=255_u8], 0..300),
        cut in any::<prop::sample::Index>(),
    ) {
        SITE.with(|site| {
            let value = http::HeaderValue::from_bytes(&bytes).unwrap();
            let mut request = ask("GET", "/", &[]);
            request.headers_mut().insert("affinity-pin", value);
            let cookie = [COOKIE_NAME.as_bytes(), b"=", &bytes].concat();
            let cookie = http::HeaderValue::from_bytes(&cookie).unwrap();
            request.headers_mut().insert("cookie", cookie);
            let seen = site.send(request);
            prop_assert_eq!((seen.status(), seen.affinity().decision().kind.as_str()), (200, "assigned"));
            let token = site.token("B");
            let at = cut.index(token.len());
            let seen = site.get_with(&token[..at]);
            prop_assert_eq!(seen.affinity().decision().kind.as_str(), "assigned");
            let mut flipped = token.into_bytes();
            flipped[at] ^= 1;
            let flipped = String::from_utf8(flipped).unwrap();
            let seen = site.get_with(&flipped);
            prop_assert_eq!(seen.affinity().decision().kind.as_str(), "assigned", "{}", flipped);
            Ok(())
        })?;
    }
}

thread_local! {
    static SITE: Site = Site::new();
}
