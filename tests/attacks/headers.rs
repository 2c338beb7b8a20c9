//! Names that only the gateway may use, and lists that try to strip them.

use affinity_tests::config::COOKIE;

use super::support::{A, B, Site, get, talk};

#[tokio::test]
async fn sec_29_what_a_client_says_under_our_names_reaches_nobody() {
    let site = Site::start().await;
    let lines = format!(
        "affinity-group: {B}\r\nAffinity-Group: {B}\r\nAFFINITY-GROUP: {B}\r\n\
         Affinity_Group: {B}\r\naffinity_session: spoofed\r\naffinity-session: end\r\n\
         affinity-decision: pinned; cause=spoofed\r\naffinity-moved-from: spoofed\r\n\
         affinity-misdirected: 1\r\naffinity-outcome: spoofed\r\naffinity-anything: spoofed\r\n\
         affinity.group: {B}\r\nAffinity~Session: spoofed\r\naffinity-: spoofed\r\naffinity__x: spoofed\r\naffinity-override: spoofed\r\n"
    );
    talk(site.address(), get(&lines)).await;
    let seen = site.a.take();
    assert_eq!(seen[0].field("affinity-group").as_deref(), Some(A));
    assert_eq!(seen[0].decision(), "assigned; cause=new");
    let text = seen[0].shown();
    assert!(!text.contains("spoofed") && !text.contains(B), "{text}");
    let ours = text.to_ascii_lowercase().matches("\r\naffinity").count();
    assert_eq!(ours, 3, "group, session, decision: {text}");
    // a space before the colon is no name, and not to be mended
    for line in [
        format!("affinity-group : {B}\r\n"),
        format!("affinity-group\t: {B}\r\n"),
        format!(" affinity-group: {B}\r\n"),
    ] {
        let reply = talk(site.address(), get(&line)).await;
        assert_eq!(reply.status(), 400, "{line:?}");
    }
    assert!(site.a.seen().is_empty());
}

#[tokio::test]
async fn sec_29_a_trailer_is_no_second_way_in() {
    let site = Site::start().await;
    let pin = site.pin_a().await;
    let request = format!(
        "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\
         trailer: affinity-group, affinity_group, x-sum, cookie, x-forwarded-for, affinity-pin\r\n\r\n\
         2\r\nok\r\n0\r\naffinity-group: {B}\r\naffinity_group: {B}\r\nx-sum: 1\r\n\
         affinity-pin: {pin}\r\ncookie: {COOKIE}={pin}\r\nx-forwarded-for: 9.9.9.9\r\n\
         affinity.group: {B}\r\nX_Forwarded_For: 9.9.9.9\r\n\r\n"
    );
    assert_eq!(talk(site.address(), request).await.status(), 200);
    let seen = site.a.take();
    assert_eq!(seen.len(), 1);
    let trailers = String::from_utf8_lossy(&seen[0].body).into_owned();
    assert!(trailers.contains("x-sum: 1"), "trailers pass: {trailers}");
    for name in [
        "affinity-group:",
        "affinity_group:",
        "affinity-pin:",
        "cookie:",
        "x-forwarded-for:",
        "affinity.group:",
        "x_forwarded_for:",
    ] {
        assert!(!trailers.contains(name), "{name} in {trailers}");
    }
    assert!(
        !seen[0].shown().contains(&pin),
        "the pin went on: {}",
        seen[0].shown()
    );
}

#[tokio::test]
async fn sec_29_what_an_endpoint_says_under_our_names_reaches_no_client() {
    let site = Site::start().await;
    site.a.answer(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: affinity-session, x-sum\r\n\
         affinity-group: spoofed\r\naffinity_decision: spoofed\r\naffinity-misdirected: 1\r\n\
         affinity-anything: spoofed\r\naffinity-outcome: success\r\naffinity-session: nonsense\r\n\
         \r\n2\r\nok\r\n0\r\naffinity-session: spoofed\r\nx-sum: 1\r\n\r\n",
    );
    let reply = talk(site.address(), get("te: trailers\r\n")).await;
    assert_eq!(reply.status(), 200);
    let text = reply.text().to_ascii_lowercase();
    assert!(!text.contains("spoofed"), "{text}");
    for name in ["\r\naffinity-", "\r\naffinity_"] {
        assert!(!text.contains(name), "{text}");
    }
}

#[tokio::test]
async fn sec_30_a_list_of_hop_by_hop_names_strips_only_what_the_client_sent() {
    let site = Site::start().await;
    let pin = site.pin_b().await;
    let lines = format!(
        "Connection: affinity-group, affinity-session, affinity-decision, x-forwarded-for\r\n\
         Connection: x-forwarded-proto, x-forwarded-host, cookie, authorization, x-client\r\n\
         affinity-group: {A}\r\nx-forwarded-for: 9.9.9.9\r\nauthorization: Bearer x\r\n\
         cookie: a=1; {COOKIE}={pin}\r\nx-client: 1\r\nx-other: 2\r\n"
    );
    assert_eq!(talk(site.address(), get(&lines)).await.status(), 200);
    assert!(
        site.a.take().is_empty(),
        "affinity was read before the removal"
    );
    let seen = site.b.take().remove(0);
    assert_eq!(seen.field("affinity-group").as_deref(), Some(B));
    assert_eq!(seen.decision(), "pinned; cause=ok");
    assert!(seen.field("affinity-session").is_some());
    assert_eq!(seen.field("x-forwarded-for").as_deref(), Some("127.0.0.1"));
    assert_eq!(seen.field("x-forwarded-proto").as_deref(), Some("http"));
    assert_eq!(
        seen.field("x-forwarded-host").as_deref(),
        Some("shop.example")
    );
    assert_eq!(seen.field("x-other").as_deref(), Some("2"));
    for name in ["authorization", "cookie", "x-client", "connection"] {
        assert_eq!(seen.field(name), None, "{name}");
    }
    for name in [
        "host",
        "Host",
        "content-length",
        "transfer-encoding",
        "content-type",
        ":authority",
    ] {
        let reply = talk(site.address(), get(format!("connection: {name}\r\n"))).await;
        assert_eq!(reply.status(), 400, "Connection: {name}");
    }
    assert!(site.a.take().is_empty());
}

#[tokio::test]
async fn sec_31_nobody_is_believed_about_the_client() {
    let site = Site::start().await;
    let long = vec!["9.9.9.9"; 5_000].join(", ");
    for value in ["9.9.9.9", "9.9.9.9, 127.0.0.1", "garbage", "", &long] {
        let lines = format!(
            "x-forwarded-for: {value}\r\nX-Forwarded-For: 8.8.8.8\r\nx-forwarded-proto: https\r\n\
             x-forwarded-host: evil.example\r\nforwarded: for=9.9.9.9\r\n\
             X_Forwarded_For: 9.9.9.9\r\nx-forwarded_for: 9.9.9.9\r\nX.Forwarded.Proto: https\r\n\
             x_forwarded_host: evil.example\r\nx_forwarded_by: kept\r\n"
        );
        assert_eq!(talk(site.address(), get(&lines)).await.status(), 200);
        let seen = site.a.take().remove(0);
        assert_eq!(seen.field("x-forwarded-for").as_deref(), Some("127.0.0.1"));
        assert_eq!(seen.field("x-forwarded-proto").as_deref(), Some("http"));
        assert_eq!(
            seen.field("x-forwarded-host").as_deref(),
            Some("shop.example")
        );
        assert_eq!(seen.field("forwarded"), None);
        let text = seen.shown();
        assert!(
            !text.contains("9.9.9.9") && !text.contains("evil"),
            "{text}"
        );
        assert!(!text.contains("https"), "{text}");
        assert_eq!(seen.field("x_forwarded_by").as_deref(), Some("kept"));
    }
}

#[tokio::test]
async fn sec_31_a_forwarded_address_is_no_key_of_the_draw() {
    let scope = "[[scope]]\npath = \"/*\"\nassign = \"address\"\n";
    let site = Site::with(|config| config.sections = scope.to_owned()).await;
    site.weights(1, 1).await;
    for number in 0..100 {
        let lines =
            format!("x-forwarded-for: 10.{number}.1.1\r\nforwarded: for=10.{number}.1.1\r\n");
        assert_eq!(talk(site.address(), get(&lines)).await.status(), 200);
    }
    let (a, b) = (site.a.take().len(), site.b.take().len());
    assert!(
        a == 0 || b == 0,
        "one address went to both groups: {a} and {b}"
    );
}
