//! New keys and new names under load lose no session.

use proptest::prelude::*;
use tower_affinity::CookieAttributes;
use tower_affinity::core::{Clock, ServiceName};

use crate::support::{Browser, COOKIE_NAME, K1, K2, Site, TI, codec};

/// A key's way: verifying everywhere, signing, verifying, gone.
fn rings() -> [String; 4] {
    [
        K1.to_owned(),
        format!("{K1},{K2}"),
        format!("{K2},{K1}"),
        K2.to_owned(),
    ]
}

fn replica(like: &Site, phase: usize) -> Site {
    Site::of(
        like.clock.clone(),
        like.rollouts.clone(),
        &rings()[phase],
        |builder| builder,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// SEC-53, C092 to C096: a phase begins on one replica while the other is still in the last.
    #[test]
    fn c093_a_rotation_in_phases_moves_nobody_and_rejects_no_pin(
        order in proptest::collection::vec(any::<bool>(), 3),
        requests in proptest::collection::vec((0..4_usize, 0..2_usize, 0..300_u64), 40),
    ) {
        let like = Site::new();
        let mut replicas = [replica(&like, 0), replica(&like, 0)];
        let mut browsers = vec![Browser::default(); 4];
        let start: Vec<_> = browsers.iter_mut().map(|b| b.get(&replicas[0]).affinity().clone()).collect();
        for (phase, first) in order.into_iter().enumerate() {
            for replica_index in [usize::from(first), usize::from(!first)] {
                replicas[replica_index] = replica(&like, phase + 1);
                for (browser, replica, wait) in &requests {
                    like.advance(wait % 8);
                    let seen = browsers[*browser].get(&replicas[*replica]);
                    prop_assert_eq!(seen.affinity().decision().kind.as_str(), "pinned", "{}", seen.said());
                    prop_assert_eq!(seen.affinity().group(), start[*browser].group());
                    prop_assert_eq!(seen.affinity().session(), start[*browser].session());
                }
                if phase == 1 {
                    // the old key goes only once no session holds a pin that it signed
                    like.advance(TI / 4);
                    for browser in &mut browsers {
                        prop_assert!(browser.get(&replicas[replica_index]).said().starts_with("pinned/ok@"));
                    }
                }
            }
        }
    }
}

/// C094, C095.
#[test]
fn c094_a_pin_of_a_key_that_only_verifies_is_obeyed_and_renewed_with_the_key_that_signs() {
    let old = Site::new();
    let token = old.token("B");
    let both = replica(&old, 2);
    both.advance(TI / 2);
    let seen = both.get_with(&token);
    assert_eq!(seen.said(), "pinned/ok@B");
    let renewed = seen.cookie().expect("a renewal");
    let lifetimes = tower_affinity::core::Lifetimes::default();
    let new_alone = codec("checkout", K2).open(renewed.as_bytes(), both.clock.now(), lifetimes);
    assert!(new_alone.is_ok(), "renewed with the old key");
    let gone = replica(&old, 3);
    assert!(
        gone.get_with(&token)
            .said()
            .starts_with("assigned/unknown_key@")
    );
    assert_eq!(gone.get_with(&renewed).said(), "pinned/ok@B");
}

/// C096: pins of three generations verify.
#[test]
fn c096_two_rotations_within_a_sessions_life_lose_no_pin() {
    let site = Site::new();
    let k3 = "k3:SmLdsHFhI1qyTIdHSjLtrhvwq85xXCYm9rlevqil_QQ";
    let ring = format!("{k3},{K2},{K1}");
    let last = Site::of(
        site.clock.clone(),
        site.rollouts.clone(),
        &ring,
        |builder| builder,
    );
    for keys in [K1, K2, k3] {
        let token = codec("checkout", keys).seal(&site.pin("B")).token;
        assert_eq!(
            last.get_with(&token).said(),
            "pinned/ok@B",
            "{}",
            &keys[..2]
        );
    }
}

/// C084.
#[test]
fn c084_a_renamed_cookie_is_read_under_both_names_and_written_under_the_new_one() {
    let service: ServiceName = "checkout".parse().unwrap();
    let new = CookieAttributes::new(&service, true)
        .name("__Host-x")
        .unwrap();
    let old = CookieAttributes::new(&service, true);
    let before = Site::new();
    let token = before.token("B");
    let (clock, rollouts) = (before.clock.clone(), before.rollouts);
    let alone = Site::of(clock.clone(), rollouts.clone(), K1, |b| {
        b.cookie(new.clone())
    });
    assert!(
        alone.get_with(&token).said().starts_with("assigned/new@"),
        "the old name is read"
    );
    let site = Site::of(clock, rollouts, K1, |b| {
        b.cookie(new).former_cookies(vec![old])
    });
    site.advance(TI / 2);
    let seen = site.get_with(&token);
    assert_eq!(seen.said(), "pinned/ok@B");
    assert!(seen.forwarded("cookie").is_empty());
    let line = seen.set_cookies()[0].to_owned();
    let renewed = line
        .strip_prefix("__Host-x=")
        .expect("the new name")
        .split(';')
        .next()
        .unwrap();
    // the client sends both from now on; the newer one counts, wherever it stands
    let both = format!("{COOKIE_NAME}={token}; __Host-x={renewed}");
    let seen = site.get(&[("cookie", &both)]);
    assert_eq!(seen.said(), "pinned/ok@B");
    assert!(seen.is_silent(), "the old cookie hides the renewal");
    assert!(seen.forwarded("cookie").is_empty());
    site.app.says(200, &[("affinity-session", "end")]);
    let ended = site.get(&[("cookie", &both)]);
    let names: Vec<_> = ended
        .set_cookies()
        .iter()
        .map(|l| l.split('=').next().unwrap())
        .collect();
    assert_eq!(names, ["__Host-x", COOKIE_NAME], "both are cleared");
    site.app.says(
        200,
        &[
            ("set-cookie", "__Host-affinity-checkout=evil"),
            ("set-cookie", "__Host-x=evil"),
        ],
    );
    let planted = site.get(&[("cookie", &both)]);
    assert!(planted.is_silent(), "planted under a name that is read");
}

#[test]
fn switching_secure_off_and_on_keeps_sessions() {
    let service: ServiceName = "checkout".parse().unwrap();
    let (secure, plain) = (
        CookieAttributes::new(&service, true),
        CookieAttributes::new(&service, false),
    );
    let before = Site::with(|builder| builder.cookie(plain.clone()));
    let mut browser = Browser::default();
    let session = browser.get(&before).affinity().session();
    let after = Site::of(
        before.clock.clone(),
        before.rollouts.clone(),
        K1,
        |builder| builder.cookie(secure).former_cookies(vec![plain]),
    );
    assert_eq!(browser.get(&after).affinity().session(), session);
}
