//! Overrides for testers, seen from outside.

use std::time::Duration;

use tower_affinity::core::{Clock, GroupId, Kind, MAX_OVERRIDE};
use tower_affinity_testing::name;

use crate::support::{K1, K2, Site, codec};

fn minted(site: &Site, service: &str, keys: &str, group: &str, sticky: bool) -> String {
    let id = GroupId::new(name(group), 1);
    let (ttl, now) = (Duration::from_secs(3600), site.clock.now());
    codec(service, keys)
        .seal_override(&id, ttl, sticky, now)
        .unwrap()
}

fn with(site: &Site, pin: &str, grant: &str) -> crate::support::Seen {
    let cookie = format!("__Host-affinity-checkout={pin}");
    site.get(&[("cookie", &cookie), ("affinity-override", grant)])
}

#[test]
fn c014_an_override_wins_over_the_pin_which_is_not_replaced() {
    let site = Site::new();
    let grant = minted(&site, "checkout", K1, "B", false);
    let seen = with(&site, &site.token("A"), &grant);
    assert_eq!(seen.said(), "overridden/granted@B");
    assert!(seen.is_silent());
    assert_eq!(seen.header("cache-control"), Some("no-store"));
    assert!(seen.affinity().session().is_none());
    assert!(seen.forwarded("affinity-override").is_empty());
    site.advance(3600);
    assert_eq!(with(&site, &site.token("A"), &grant).said(), "pinned/ok@A");
}

#[test]
fn c014_a_sticky_override_begins_a_session_there() {
    let site = Site::new();
    let grant = minted(&site, "checkout", K1, "B", true);
    let first = with(&site, &site.token("A"), &grant);
    assert_eq!(first.said(), "overridden/sticky@B");
    let token = first.cookie().expect("a pin");
    let pin = site.open(&token);
    assert!(pin.placed && pin.session != site.pin("A").session);
    let again = with(&site, &token, &grant);
    assert_eq!(
        (again.said().as_str(), again.is_silent()),
        ("overridden/sticky@B", true)
    );
    assert_eq!(site.get_with(&token).said(), "pinned/ok@B");
}

#[test]
fn sec_32_what_is_no_valid_override_is_ignored() {
    let site = Site::new();
    let good = minted(&site, "checkout", K1, "B", false);
    let changed = good.replacen('.', ".A", 1);
    let wrong = [
        "B".to_owned(),
        "always".to_owned(),
        String::new(),
        "x".repeat(600),
        changed,
        minted(&site, "other", K1, "B", false),
        minted(&site, "checkout", K2, "B", false),
        site.token("B"),
    ];
    for grant in &wrong {
        let seen = with(&site, &site.token("A"), grant);
        assert_eq!(seen.said(), "pinned/ok@A", "{grant}");
        assert_eq!(seen.header("cache-control"), Some("private"));
    }
    assert!(
        site.get_with(&good)
            .said()
            .starts_with("assigned/wrong_type@"),
        "it is no pin"
    );
    let id = GroupId::new(name("B"), 1);
    let long = MAX_OVERRIDE + Duration::from_secs(1);
    assert_eq!(
        codec("checkout", K1).seal_override(&id, long, false, site.clock.now()),
        None
    );
}

#[test]
fn sec_32_an_override_to_an_aborted_group_is_refused_loudly_and_cleared() {
    let site = Site::new();
    let grant = minted(&site, "checkout", K1, "B", true);
    site.abort("B");
    let refused = with(&site, &site.token("A"), &grant);
    assert_eq!(refused.status(), 409);
    assert_eq!(refused.header("cache-control"), Some("no-store"));
    assert!(refused.forwarded.is_none() && refused.is_silent());
    let cookie = format!("__Host-affinity-checkout.override={grant}");
    let refused = site.get(&[("cookie", &cookie)]);
    assert_eq!(refused.said(), "refused/override_not_routable@B");
    assert_eq!(
        refused.set_cookies(),
        ["__Host-affinity-checkout.override=; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=0"]
    );
}

#[test]
fn a_visit_of_our_path_sets_the_cookie_and_goes_no_further() {
    let site = Site::new();
    let grant = minted(&site, "checkout", K1, "B", false);
    let visit = |token: &str| {
        let path = format!("/.well-known/affinity/override?token={token}");
        site.send(crate::support::ask("GET", &path, &[]))
    };
    let seen = visit(&grant);
    assert_eq!((seen.status(), seen.header("location")), (303, Some("/")));
    assert_eq!(seen.header("cache-control"), Some("no-store"));
    let line = format!(
        "__Host-affinity-checkout.override={grant}; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=3600"
    );
    assert_eq!(seen.set_cookies(), [line]);
    let bad = visit("garbage");
    assert_eq!((bad.status(), bad.set_cookies().len()), (400, 0));
    assert!(bad.forwarded.is_none());
    assert_eq!(bad.affinity().decision().kind, Kind::Refused);
}
