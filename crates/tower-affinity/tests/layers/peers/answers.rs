//! Heads and bodies on the way to a peer and back.

use tower_affinity::signal::Signal;

use super::mesh::{Mesh, Says, ask, token};
use crate::support::{COOKIE_NAME, ask as ask_for, texts};

#[tokio::test]
async fn the_peer_is_told_what_an_endpoint_of_a_gateway_is_told_and_nothing_of_the_client_s() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    let request = ask(&[
        ("cookie", &format!("x=1; {COOKIE_NAME}={}", token("B", 7))),
        ("affinity-group", "A"),
        ("affinity_session", "spoofed"),
        ("affinity-moved-from", "spoofed"),
        ("connection", "affinity-group, x-one-hop, affinity-hop"),
        ("x-one-hop", "1"),
        ("keep-alive", "timeout=5"),
        ("te", "trailers, deflate"),
        ("x-forwarded-for", "203.0.113.9"),
        ("x-end-to-end", "kept"),
    ]);
    let mut request = request;
    let peer = tower_affinity::PeerAddr("192.0.2.7:4000".parse().unwrap());
    request.extensions_mut().insert(peer);
    assert_eq!(a.send(request).await.served(), (200, "B"));
    let asked = b.asked();
    let of = |name: &str| texts(&asked[0].headers, name);
    assert_eq!(of("affinity-group"), ["B"]);
    assert_eq!(
        of("affinity-session"),
        [asked[0].session.unwrap().to_string()]
    );
    assert_eq!(of("affinity-decision"), ["pinned; cause=ok"]);
    assert_eq!(of("x-forwarded-for"), ["203.0.113.9, 192.0.2.7"]);
    assert_eq!(of("x-end-to-end"), ["kept"]);
    assert_eq!(of("cookie"), ["x=1"]);
    assert_eq!(of("te"), ["trailers"]);
    for name in [
        "affinity_session",
        "affinity-moved-from",
        "connection",
        "x-one-hop",
        "keep-alive",
    ] {
        assert!(of(name).is_empty(), "{name}: {:?}", of(name));
    }
}

#[tokio::test]
async fn no_application_sees_what_a_client_says_under_our_names() {
    let mesh = Mesh::new();
    let [a, _b] = mesh.two();
    let spoofed = [
        ("affinity-group", "B"),
        ("affinity-session", "spoofed"),
        ("affinity_decision", "spoofed"),
        ("x-own", "kept"),
    ];
    assert_eq!(a.get(&token("A", 7), &spoofed).await.served(), (200, "A"));
    let asked = a.asked();
    for name in ["affinity-group", "affinity-session", "affinity_decision"] {
        let seen = texts(&asked[0].headers, name);
        assert!(seen.is_empty(), "{name}: {seen:?}");
    }
    assert_eq!(texts(&asked[0].headers, "x-own"), ["kept"]);
}

#[tokio::test]
async fn an_upgrade_is_asked_of_the_peer() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    let upgrade = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "websocket"),
    ];
    a.get(&token("B", 7), &upgrade).await;
    let asked = b.asked();
    assert_eq!(texts(&asked[0].headers, "connection"), ["upgrade"]);
    assert_eq!(texts(&asked[0].headers, "upgrade"), ["websocket"]);
    // HTTP itself ends here, and so does what nobody can say the meaning of
    for protocol in ["h2c", "HTTP/2.0", "websocket, h2c"] {
        let upgrade = [("connection", "Upgrade"), ("upgrade", protocol)];
        a.get(&token("B", 7), &upgrade).await;
        let asked = b.asked();
        assert!(
            !asked[0].headers.contains_key("upgrade"),
            "{protocol} passed"
        );
        assert!(!asked[0].headers.contains_key("connection"), "{protocol}");
    }
}

#[tokio::test]
async fn bodies_pass_both_ways() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    let cookie = format!("{COOKIE_NAME}={}", token("B", 7));
    let request = ask_for("POST", "/step", &[("cookie", &cookie)]);
    let request = request.map(|_| bytes::Bytes::from("one step").into());
    assert_eq!(a.send(request).await.served(), (200, "B"));
    assert_eq!(b.asked()[0].body, "one step");
}

#[tokio::test]
async fn what_the_peers_application_says_of_its_session_is_obeyed_and_never_seen() {
    let in_headers = Says {
        headers: vec![("affinity-session", "end"), ("affinity-outcome", "success")],
        signal: None,
    };
    let in_process = Says {
        headers: Vec::new(),
        signal: Some(Signal::End),
    };
    for says in [in_headers, in_process] {
        let mesh = Mesh::new();
        let [a, b] = mesh.two();
        b.says(says);
        let reply = a.get(&token("B", 7), &[]).await;
        let cleared = reply.headers["set-cookie"].to_str().unwrap();
        assert!(cleared.ends_with("Max-Age=0"), "{cleared}");
        for name in ["affinity-session", "affinity-outcome"] {
            assert!(!reply.headers.contains_key(name), "the client sees {name}");
        }
    }
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    b.abort(&mesh.clock, "B");
    a.says(Says {
        headers: vec![("affinity-session", "moved-seen")],
        signal: None,
    });
    let reply = b.get(&token("B", 7), &[]).await;
    b.get(&reply.cookie().expect("moved"), &[]).await;
    let asked = a.asked();
    assert_eq!(asked[0].moved_from.as_deref(), Some("B"));
    assert_eq!(asked[1].moved_from, None, "told again after it was seen");
}

#[tokio::test]
async fn a_pin_that_a_peer_plants_reaches_nobody() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    b.says(Says {
        headers: vec![
            ("set-cookie", "__Host-affinity-checkout=planted; Path=/"),
            ("set-cookie", "own=1"),
            ("affinity-pin", "planted"),
            ("keep-alive", "timeout=5"),
            ("connection", "x-one-hop"),
            ("x-one-hop", "1"),
        ],
        signal: None,
    });
    let reply = a.get(&token("B", 7), &[]).await;
    assert_eq!(texts(&reply.headers, "set-cookie"), ["own=1"]);
    for name in ["affinity-pin", "keep-alive", "connection", "x-one-hop"] {
        assert!(!reply.headers.contains_key(name), "{name} passed");
    }
}
