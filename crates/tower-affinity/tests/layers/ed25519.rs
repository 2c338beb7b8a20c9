//! Pins that Ed25519 signs, through the layer.

use tower_affinity::core::{Clock, KeyError, Lifetimes};
use tower_affinity::{AffinityBuilder, Keyring, KeyringError, VerifyingKeyring};

use crate::support::{Browser, COOKIE_NAME, K1, Site, TI};

/// The seed and the public key of the second test of RFC 8032.
const PRIVATE: &str = "ed:ed25519:TM0Imyj_ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U-4pvs";
const PUBLIC: &str = "ed:ed25519-public:PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw";
const IDS: &str = "Zk7vQ2mXc9RbT5nLh1WpJ8yUeG4dSa0oKiF6xVtM3Yw";

fn ring(keys: &str) -> Keyring {
    Keyring::parse_with_id_secret(keys, IDS).unwrap()
}

fn signed_by(keys: &'static str) -> impl Fn(AffinityBuilder) -> AffinityBuilder {
    move |builder| builder.keyring(ring(keys))
}

#[test]
fn a_session_is_pinned_and_a_service_with_the_public_half_can_read_its_pin() {
    let site = Site::with(signed_by(PRIVATE));
    let mut browser = Browser::default();
    let first = browser.get(&site);
    assert_eq!(first.affinity().decision().kind.as_str(), "assigned");
    for _ in 0..3 {
        let next = browser.get(&site);
        assert!(next.said().starts_with("pinned/ok@"), "{}", next.said());
        assert_eq!(next.affinity().group(), first.affinity().group());
    }
    let ring = VerifyingKeyring::parse(PUBLIC).unwrap();
    let verifier = ring.verifier("checkout".parse().unwrap());
    let token = browser.token().as_bytes();
    let opened = verifier.open(token, site.clock.now(), Lifetimes::default());
    let pin = opened.unwrap().pin;
    assert_eq!(Some(pin.session), first.affinity().session());
    assert!(pin.group.known().is_none(), "its group is hidden");
}

#[test]
fn sessions_of_hs256_go_on_under_ed25519_and_back() {
    let keys = [
        K1.to_owned(),
        format!("{K1},{PUBLIC}"),
        format!("{PRIVATE},{K1}"),
        PRIVATE.to_owned(),
        format!("{PRIVATE},{K1}"),
        format!("{K1},{PRIVATE}"),
        K1.to_owned(),
    ];
    let like = Site::new();
    let mut browser = Browser::default();
    let first = browser.get(&like).affinity().clone();
    for keys in keys {
        let (clock, rollouts) = (like.clock.clone(), like.rollouts.clone());
        let site = Site::of(clock, rollouts, K1, |builder| builder.keyring(ring(&keys)));
        let seen = browser.get(&site);
        assert!(seen.said().starts_with("pinned/ok@"), "{}", seen.said());
        assert_eq!(seen.affinity().session(), first.session());
        assert_eq!(seen.affinity().group(), first.group());
        // from then on the key that signs now has signed its pin
        like.advance(TI / 4);
        browser.get(&site);
    }
}

#[test]
fn three_cookies_for_ed25519_are_none() {
    let site = Site::with(signed_by(PRIVATE));
    let mut browser = Browser::default();
    browser.get(&site);
    let pair = format!("{COOKIE_NAME}={}", browser.token());
    let two = site.get(&[("cookie", &format!("{pair}; {pair}"))]);
    assert!(two.said().starts_with("pinned/ok@"), "{}", two.said());
    let three = site.get(&[("cookie", &format!("{pair}; {pair}; {pair}"))]);
    assert!(
        three.said().starts_with("assigned/duplicates@"),
        "{}",
        three.said()
    );
}

#[test]
fn a_ring_that_cannot_sign_is_refused_before_there_is_a_layer() {
    let refused = |keys: &str| match Keyring::parse_with_id_secret(keys, IDS) {
        Err(KeyringError::Key(error)) => error,
        other => panic!("{other:?}"),
    };
    let id = || "ed".parse().unwrap();
    assert_eq!(refused(PUBLIC), KeyError::VerifiesOnly(id()));
    let both = format!("{PUBLIC},{K1}");
    assert_eq!(refused(&both), KeyError::VerifiesOnly(id()));
    match Keyring::parse(PRIVATE) {
        Err(KeyringError::Key(error)) => assert_eq!(error, KeyError::NoIdSecret(id())),
        other => panic!("{other:?}"),
    }
}
