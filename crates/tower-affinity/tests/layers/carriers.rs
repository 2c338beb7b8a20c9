//! How a pin comes and goes: cookie or header, never both.

use tower_affinity::Carrier;

use crate::support::{COOKIE_NAME, Site, TI, ask, codec};

#[test]
fn a_header_client_asks_with_an_empty_header_and_gets_its_pin_only_there() {
    let site = Site::new();
    let seen = site.get(&[("affinity-pin", "")]);
    let token = seen
        .header("affinity-pin")
        .expect("a pin in the header")
        .to_owned();
    assert_eq!(seen.set_cookies(), [] as [&str; 0]);
    assert!(
        seen.forwarded("affinity-pin").is_empty(),
        "the application saw the header"
    );
    let next = site.get(&[("affinity-pin", &token)]);
    assert!(next.said().starts_with("pinned/ok@"), "{}", next.said());
    assert!(next.is_silent());
    assert!(
        next.forwarded("affinity-pin").is_empty(),
        "the application saw the pin"
    );
}

#[test]
fn a_renewal_goes_into_the_carrier_in_which_the_pin_came() {
    let site = Site::new();
    let token = site.token("A");
    site.advance(TI / 2);
    let by_header = site.get(&[("affinity-pin", &token)]);
    assert!(
        by_header
            .header("affinity-pin")
            .is_some_and(|pin| !pin.is_empty())
    );
    assert!(by_header.set_cookies().is_empty());
    let by_cookie = site.get_with(&token);
    assert!(by_cookie.cookie().is_some());
    assert_eq!(by_cookie.header("affinity-pin"), None);
    // an empty header asks, but a valid cookie is the carrier
    let both = site.get(&[
        ("affinity-pin", ""),
        ("cookie", &format!("{COOKIE_NAME}={token}")),
    ]);
    assert!(both.cookie().is_some());
    assert_eq!(both.header("affinity-pin"), None);
}

/// C114.
#[test]
fn c114_a_tab_with_its_own_header_pin_is_obeyed_and_the_cookie_is_not_rewritten() {
    let site = Site::new();
    let (a, b) = (site.token("A"), site.token("B"));
    let cookie = format!("{COOKIE_NAME}={b}");
    let seen = site.get(&[("affinity-pin", &a), ("cookie", &cookie)]);
    assert_eq!(seen.said(), "pinned/ok@A");
    assert!(seen.is_silent());
    site.advance(TI / 2);
    let later = site.get(&[("affinity-pin", &a), ("cookie", &cookie)]);
    assert_eq!(later.said(), "pinned/ok@A");
    assert!(
        later.set_cookies().is_empty(),
        "the other tab's cookie was rewritten"
    );
    assert!(later.header("affinity-pin").is_some());
}

#[test]
fn an_invalid_header_falls_through_to_the_cookie_and_is_the_carrier_only_without_one() {
    let site = Site::new();
    let cookie = format!("{COOKIE_NAME}={}", site.token("B"));
    for bad in ["garbage", "a.b.c", &"x".repeat(600)] {
        let seen = site.get(&[("affinity-pin", bad), ("cookie", &cookie)]);
        assert_eq!(seen.said(), "pinned/ok@B", "{bad}");
        let alone = site.get(&[("affinity-pin", bad)]);
        assert_eq!(alone.affinity().decision().kind.as_str(), "assigned");
        assert!(
            alone
                .header("affinity-pin")
                .is_some_and(|pin| !pin.is_empty())
        );
        assert!(alone.set_cookies().is_empty(), "the header is the carrier");
    }
}

#[test]
fn carriers_that_are_switched_off_are_neither_read_nor_written_nor_forwarded() {
    let header_only = Site::with(|builder| builder.carriers([Carrier::Header]));
    let token = header_only.token("B");
    let cookie = format!("{COOKIE_NAME}={token}");
    let seen = header_only.get(&[("cookie", &cookie)]);
    assert!(seen.said().starts_with("assigned/new@"), "{}", seen.said());
    assert!(seen.is_silent(), "a header nobody asked for, or a cookie");
    assert!(seen.forwarded("cookie").is_empty());
    assert_eq!(
        header_only.get(&[("affinity-pin", &token)]).said(),
        "pinned/ok@B"
    );

    let cookie_only = Site::with(|builder| builder.carriers([Carrier::Cookie]));
    let seen = cookie_only.get(&[("affinity-pin", &token)]);
    assert!(seen.said().starts_with("assigned/new@"), "{}", seen.said());
    assert!(seen.cookie().is_some());
    assert_eq!(seen.header("affinity-pin"), None);
    assert!(seen.forwarded("affinity-pin").is_empty());
}

/// SEC-06.
#[test]
fn a_foreign_services_pin_passes_under_its_own_name_and_is_no_pin_under_ours() {
    let site = Site::new();
    let foreign = codec("search", crate::support::K1)
        .seal(&site.pin("A"))
        .token;
    let under_its_name = format!("__Host-affinity-search={foreign}");
    let seen = site.get(&[("cookie", &under_its_name)]);
    assert!(seen.said().starts_with("assigned/new@"), "{}", seen.said());
    assert_eq!(seen.forwarded("cookie"), [under_its_name.as_bytes()]);

    let under_ours = site.get_with(&foreign);
    let said = under_ours.said();
    assert!(said.starts_with("assigned/wrong_audience@"), "{said}");
    assert!(under_ours.cookie().is_some(), "a fresh pin replaces it");
}

/// Rules, section 6: read on upgrades only, removed before forwarding, never written back.
#[test]
fn a_pin_in_the_query_of_an_upgrade_is_obeyed_and_answered_nowhere() {
    let site = Site::new();
    let token = site.token("B");
    site.advance(TI / 2);
    let target = format!("/ws?room=1&affinity-pin={token}");
    let upgrade = [("connection", "upgrade"), ("upgrade", "websocket")];
    let seen = site.send(ask("GET", &target, &upgrade));
    assert_eq!(seen.said(), "pinned/ok@B");
    assert!(seen.is_silent(), "a renewal went into another carrier");
    let forwarded = seen.forwarded.as_ref().unwrap();
    assert_eq!(forwarded.uri(), "/ws?room=1", "the application saw the pin");

    // a header comes before it, a cookie after it
    let a = site.token("A");
    let by_header = site.send(ask(
        "GET",
        &target,
        &[upgrade[0], upgrade[1], ("affinity-pin", &a)],
    ));
    assert_eq!(by_header.said(), "pinned/ok@A");
    let cookie = format!("{COOKIE_NAME}={a}");
    let by_query = site.send(ask(
        "GET",
        &target,
        &[upgrade[0], upgrade[1], ("cookie", &cookie)],
    ));
    assert_eq!(by_query.said(), "pinned/ok@B");

    // one that is no pin leaves the cookie its say, and is the reason if there is none
    let bad = "/ws?affinity-pin=garbage";
    let fallen = site.send(ask(
        "GET",
        bad,
        &[upgrade[0], upgrade[1], ("cookie", &cookie)],
    ));
    assert_eq!(fallen.said(), "pinned/ok@A");
    let alone = site.send(ask("GET", bad, &upgrade));
    assert!(
        alone.said().starts_with("assigned/malformed@"),
        "{}",
        alone.said()
    );
    assert!(alone.cookie().is_some(), "the cookie is the carrier");

    let plain = site.send(ask("GET", &target, &[]));
    assert!(
        plain.said().starts_with("assigned/new@"),
        "{}",
        plain.said()
    );
    assert_eq!(*plain.forwarded.as_ref().unwrap().uri(), *target);

    let cookie_only = Site::with(|builder| builder.carriers([Carrier::Cookie]));
    let seen = cookie_only.send(ask("GET", &target, &upgrade));
    assert!(seen.said().starts_with("assigned/new@"), "{}", seen.said());
}
