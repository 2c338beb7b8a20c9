//! Scopes that draw by what a request names, so that parallel first requests agree.

use std::collections::HashSet;
use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tower_affinity::core::Clock;
use tower_affinity::wire::{AssignBy, PathPattern, Scope};
use tower_affinity::{ClientAddr, PeerAddr};
use tower_affinity_testing::rollout;

use crate::support::{Body, K1, Seen, Site, ask};

fn pair(assign: &AssignBy) -> [Site; 2] {
    let clock = Site::new().clock;
    // the order in which a replica learned of the groups has no say
    [[("A", 50), ("B", 50)], [("B", 50), ("A", 50)]].map(|shares| {
        let scope = Scope::new(PathPattern::all()).assign(assign.clone());
        Site::of(clock.clone(), rollout(10, &shares), K1, |builder| {
            builder.scope(scope)
        })
    })
}

fn from(peer: &str, client: Option<&str>) -> http::Request<Body> {
    let mut request = ask("GET", "/", &[]);
    let peer: SocketAddr = peer.parse().unwrap();
    request.extensions_mut().insert(PeerAddr(peer));
    if let Some(client) = client {
        request
            .extensions_mut()
            .insert(ClientAddr(client.parse().unwrap()));
    }
    request
}

fn group(seen: &Seen) -> String {
    assert!(
        seen.said().starts_with("assigned/keyed@"),
        "{}",
        seen.said()
    );
    assert!(seen.cookie().is_some());
    seen.affinity().group().to_owned()
}

/// C023, C025, C105.
#[test]
fn c025_parallel_first_requests_with_one_key_agree_on_every_replica() {
    let user = "x-user-id".parse().unwrap();
    let sites = pair(&AssignBy::Header(user));
    let mut groups = HashSet::new();
    for user in 0..200 {
        let user = format!("user-{user}");
        let slow: Vec<_> = (0..8)
            .map(|nth| sites[nth % 2].start(ask("GET", "/", &[("x-user-id", &user)])))
            .collect();
        let seen: Vec<Seen> = slow.into_iter().map(|slow| slow.arrive()).collect();
        let here: HashSet<String> = seen.iter().map(group).collect();
        assert_eq!(here.len(), 1, "{user} was drawn to {here:?}");
        let sessions: HashSet<_> = seen.iter().map(|seen| seen.affinity().session()).collect();
        assert_eq!(sessions.len(), 8, "a key is a preference and no session");
        groups.extend(here);
    }
    assert_eq!(groups.len(), 2, "all users are in one group");
}

/// C023.
#[test]
fn c023_an_application_cookie_can_be_the_key_and_stays_with_the_application() {
    let sites = pair(&AssignBy::Cookie("uid".into()));
    for user in 0..50 {
        let cookie = format!("a=1; uid=u{user}; b=2");
        let seen = sites
            .each_ref()
            .map(|site| site.get(&[("cookie", &cookie)]));
        assert_eq!(group(&seen[0]), group(&seen[1]));
        assert_eq!(seen[0].forwarded("cookie"), [cookie.as_bytes()]);
    }
}

#[test]
fn without_its_key_a_request_is_drawn_by_its_fresh_session() {
    let user = "x-user-id".parse().unwrap();
    for (sites, headers) in [
        (pair(&AssignBy::Header(user)), ("x-user-id", "")),
        (
            pair(&AssignBy::Cookie("uid".into())),
            ("cookie", "uid=; notuid=7"),
        ),
        (pair(&AssignBy::Address), ("x-forwarded-for", "192.0.2.1")),
    ] {
        let groups: HashSet<String> = (0..64)
            .map(|_| {
                let seen = sites[0].get(&[headers]);
                assert!(seen.said().starts_with("assigned/new@"), "{}", seen.said());
                seen.affinity().group().to_owned()
            })
            .collect();
        assert_eq!(groups.len(), 2, "64 draws without a key, and one group");
    }
}

#[test]
fn a_clients_network_is_one_key() {
    let sites = pair(&AssignBy::Address);
    let mut groups = HashSet::new();
    for net in 0..60 {
        let same = [
            from(&format!("[2001:db8:0:{net:x}00::1]:80"), None),
            from(&format!("[2001:db8:0:{net:x}ff:ffff::9]:4711"), None),
            from("192.0.2.9:1", Some(&format!("2001:db8:0:{net:x}42::7"))),
        ];
        let seen = same.map(|request| group(&sites[net % 2].send(request)));
        assert!(
            seen.iter().all(|other| *other == seen[0]),
            "{net}: {seen:?}"
        );
        groups.insert(seen[0].clone());
        let same = [
            from(&format!("192.0.2.{net}:80"), None),
            from(&format!("192.0.2.{net}:4711"), None),
            from(&format!("[::ffff:192.0.2.{net}]:80"), None),
            from("198.51.100.7:80", Some(&format!("192.0.2.{net}"))),
        ];
        let seen = same.map(|request| group(&sites[(net + 1) % 2].send(request)));
        assert!(
            seen.iter().all(|other| *other == seen[0]),
            "{net}: {seen:?}"
        );
    }
    assert_eq!(groups.len(), 2, "all networks are in one group");
}

#[test]
fn a_valid_pin_counts_before_the_key() {
    let user = "x-user-id".parse().unwrap();
    let [site, _] = pair(&AssignBy::Header(user));
    let drawn = group(&site.get(&[("x-user-id", "u")]));
    let other = if drawn == "A" { "B" } else { "A" };
    let cookie = format!("{}={}", crate::support::COOKIE_NAME, site.token(other));
    let seen = site.get(&[("x-user-id", "u"), ("cookie", &cookie)]);
    assert_eq!(seen.said(), format!("pinned/ok@{other}"));
    assert_eq!(site.pin(other).started, site.clock.now());
}

/// A bearer token that nobody has signed.
fn bearer(payload: &str) -> String {
    let encoded = URL_SAFE_NO_PAD.encode(payload);
    format!("Bearer eyJhbGciOiJub25lIn0.{encoded}.c2ln")
}

/// C023, C025.
#[test]
fn c025_parallel_first_requests_of_one_user_agree_by_the_claim_of_their_token() {
    let sites = pair(&AssignBy::Claim("sub".into()));
    let mut groups = HashSet::new();
    for user in 0..100 {
        let tokens = (0..4).map(|nth| bearer(&format!(r#"{{"jti":"{nth}","sub":"u{user}"}}"#)));
        let here: HashSet<String> = tokens
            .enumerate()
            .map(|(nth, token)| {
                let seen = sites[nth % 2].get(&[("authorization", &token)]);
                assert_eq!(
                    seen.forwarded("authorization"),
                    [token.as_bytes()],
                    "it goes on"
                );
                group(&seen)
            })
            .collect();
        assert_eq!(here.len(), 1, "user {user} was drawn to {here:?}");
        groups.extend(here);
    }
    assert_eq!(groups.len(), 2, "all users are in one group");
}

#[test]
fn a_token_that_names_nobody_or_is_a_bomb_is_served_like_no_token() {
    let [site, _] = pair(&AssignBy::Claim("sub".into()));
    let megabyte = format!(r#"{{"sub":"u","x":"{}"}}"#, "a".repeat(1 << 20));
    let deep = format!(r#"{{"x":{}"#, "[".repeat(8_000));
    for token in [
        bearer("{}"),
        bearer(r#"{"sub":["u"]}"#),
        bearer(&megabyte),
        bearer(&deep),
        "Bearer x.y.z".to_owned(),
        "Basic dTpw".to_owned(),
        String::new(),
    ] {
        let groups: HashSet<String> = (0..64)
            .map(|_| {
                let seen = site.get(&[("authorization", &token)]);
                assert!(seen.said().starts_with("assigned/new@"), "{}", seen.said());
                assert_eq!(seen.status(), 200);
                seen.affinity().group().to_owned()
            })
            .collect();
        assert_eq!(groups.len(), 2, "64 draws without a key, and one group");
    }
}
