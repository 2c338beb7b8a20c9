//! Requests that two servers could read differently: one request with one framing reaches an
//! endpoint, or none.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;

use super::support::{Site, Talk, h2, talk};

/// What must not become a request of its own.
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

/// Sends bytes on a connection of their own, and says nothing more.
async fn attack(site: &Site, bytes: &str) -> (Vec<u16>, Vec<String>) {
    let mut talk = Talk::open(site.address()).await;
    talk.write(bytes).await;
    let text = talk.end().await.text();
    let statuses = text
        .match_indices("HTTP/1.1 ")
        .filter_map(|(at, _)| text.get(at + 9..at + 12)?.parse().ok())
        .collect();
    let seen = site.a.take();
    for request in &seen {
        if let Some(fault) = request.fault() {
            panic!("{fault} after {bytes:?}: {}", request.shown());
        }
    }
    let targets = seen.iter().map(|request| {
        let head = String::from_utf8_lossy(&request.head).into_owned();
        head.split(' ').nth(1).unwrap_or_default().to_owned()
    });
    (statuses, targets.collect())
}

#[tokio::test]
async fn sec_40_ambiguous_framings_smuggle_nothing() {
    let site = Site::start().await;
    let length = SMUGGLED.len();
    for fields in [
        // a length and chunks, in both orders
        format!("content-length: {length}\r\ntransfer-encoding: chunked"),
        format!("transfer-encoding: chunked\r\ncontent-length: {length}"),
        // two lengths
        format!("content-length: 0\r\ncontent-length: {length}"),
        format!("content-length: {length}\r\ncontent-length: 0"),
        "content-length: 5\r\ncontent-length: 5".to_owned(),
        format!("content-length: 0, {length}"),
        format!("content-length: +{length}"),
        format!("content-length: 0x{length:x}"),
        "content-length: -1".to_owned(),
        "content-length: 1e1".to_owned(),
        "content-length: 99999999999999999999999".to_owned(),
        "content-length: \u{b}1".to_owned(),
        // codings that are nearly chunked
        "transfer-encoding: xchunked".to_owned(),
        "transfer-encoding: chunked, identity".to_owned(),
        "transfer-encoding: identity, chunked, chunked".to_owned(),
        "transfer-encoding: \"chunked\"".to_owned(),
        "transfer-encoding: chunked;x".to_owned(),
        "transfer-encoding: chunked\r\ntransfer-encoding: identity".to_owned(),
        "transfer-encoding: identity\r\ntransfer-encoding: chunked".to_owned(),
        "transfer-encoding: gzip, chunked".to_owned(),
        "transfer-encoding:\u{b}chunked".to_owned(),
        "transfer-encoding : chunked".to_owned(),
        " transfer-encoding: chunked".to_owned(),
        "x: y\r\n transfer-encoding: chunked".to_owned(),
        "x: y\rtransfer-encoding: chunked".to_owned(),
        "x: y\ntransfer-encoding: chunked".to_owned(),
        "transfer-encoding: \u{0}chunked".to_owned(),
        "connection: transfer-encoding\r\ntransfer-encoding: chunked".to_owned(),
        "connection: content-length\r\ncontent-length: 5".to_owned(),
    ] {
        let bytes =
            format!("POST /first HTTP/1.1\r\nhost: a\r\n{fields}\r\n\r\n0\r\n\r\n{SMUGGLED}");
        let (statuses, targets) = attack(&site, &bytes).await;
        assert_eq!(statuses.first(), Some(&400), "{fields:?}");
        assert!(
            !targets.contains(&"/first".to_owned()),
            "{fields:?} reached an endpoint: {targets:?}"
        );
        // only behind one unambiguous body is the next request a request
        let told = usize::from(fields.starts_with("connection"));
        assert!(statuses.len() <= 1 + told, "{fields:?}: {statuses:?}");
        assert!(targets.len() <= told, "{fields:?}: {targets:?}");
    }
    // a name that is nearly the field's is another field, and what follows another request
    let other = "transfer_encoding: chunked\r\ncontent-length: 5";
    let bytes = format!("POST /first HTTP/1.1\r\nhost: a\r\n{other}\r\n\r\n0\r\n\r\n{SMUGGLED}");
    let (statuses, targets) = attack(&site, &bytes).await;
    assert_eq!(
        (statuses.len(), targets.len()),
        (2, 2),
        "{statuses:?} {targets:?}"
    );
    assert!(
        site.a.torn().is_empty(),
        "half a request reached the endpoint"
    );
}

#[tokio::test]
async fn sec_40_broken_chunks_end_the_connection() {
    let site = Site::start().await;
    for chunks in [
        "x\r\n\r\n",
        "-1\r\n\r\n",
        "+2\r\nok\r\n0\r\n\r\n",
        "0x2\r\nok\r\n0\r\n\r\n",
        "2\nok\n0\n\n",
        "2\r\nokay\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\nok",
        "2 ;\rx\r\nok\r\n0\r\n\r\n",
        "2\r\nok0\r\n\r\n",
        "0\r\nhost\r\n\r\n",
    ] {
        let bytes = format!(
            "POST /first HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{chunks}{SMUGGLED}"
        );
        let (statuses, targets) = attack(&site, &bytes).await;
        assert!(
            !targets.contains(&"/smuggled".to_owned()),
            "{chunks:?}: {statuses:?} {targets:?}"
        );
    }
}

#[tokio::test]
async fn sec_41_bytes_after_an_upgrade_that_was_refused_are_no_tunnel() {
    let site = Site::start().await;
    for upgrade in [
        "x",
        "websocket",
        "h2c",
        "HTTP/2.0",
        "TLS/1.0, HTTP/1.1",
        "x, h2c",
    ] {
        let bytes = format!(
            "GET /first HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings\r\n\
             upgrade: {upgrade}\r\nhttp2-settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n\
             GET /admin HTTP/1.1\r\nhost: a\r\naffinity-group: smuggled\r\nconnection: close\r\n\r\n"
        );
        let mut talk = Talk::open(site.address()).await;
        talk.write(&bytes).await;
        let reply = talk.end().await;
        let seen = site.a.take();
        assert!(
            seen.len() <= 2 && seen.len() == reply.answers(),
            "{upgrade}: {}",
            reply.text()
        );
        for request in seen {
            assert_eq!(request.fault(), None);
            assert!(
                !request.shown().contains("smuggled"),
                "{upgrade}: {}",
                request.shown()
            );
            assert!(
                !request.shown().to_lowercase().contains("h2c"),
                "{}",
                request.shown()
            );
            assert_eq!(request.field("http2-settings"), None);
        }
    }
}

#[tokio::test]
async fn sec_42_what_http_1_cannot_carry_reaches_nobody_over_http_2() {
    let site = Site::start().await;
    let body = Full::<Bytes>::default;
    for (name, value) in [
        ("transfer-encoding", "chunked"),
        ("connection", "close"),
        ("keep-alive", "1"),
        ("upgrade", "x"),
        ("proxy-connection", "x"),
        ("te", "gzip"),
        ("host", "other.example"),
        ("content-length", "7"),
    ] {
        let request = Request::post("http://shop.example/").header(name, value);
        let told = h2(site.address(), request.body(body()).unwrap()).await;
        for seen in site.a.take() {
            assert_eq!(seen.fault(), None, "{name}: {value}");
            let shown = seen.shown();
            let own = seen
                .fields(name)
                .iter()
                .any(|field| field == value.as_bytes());
            assert!(!own || told.is_err(), "{name}: {value} went on: {shown}");
        }
    }
    assert!(
        site.a.torn().is_empty(),
        "half a request reached the endpoint"
    );
}

#[tokio::test]
async fn sec_49_a_request_target_leads_nowhere_else() {
    let site = Site::start().await;
    let long = format!("/{}", "a".repeat(70_000));
    let longer = format!("/{}", "a".repeat(20_000));
    for (line, expected) in [
        ("GET http://other.example/x HTTP/1.1", &[400][..]),
        ("GET http://shop.example/x HTTP/1.1", &[200]),
        ("GET http://shop.example@other.example/x HTTP/1.1", &[400]),
        ("GET //evil.example/x HTTP/1.1", &[200]),
        ("GET ftp://shop.example/x HTTP/1.1", &[400]),
        ("OPTIONS * HTTP/1.1", &[200]),
        ("GET * HTTP/1.1", &[400]),
        ("CONNECT other.example:443 HTTP/1.1", &[405]),
        ("CONNECT / HTTP/1.1", &[400, 405]),
        ("TRACE / HTTP/1.1", &[405]),
        ("GET shop.example/x HTTP/1.1", &[400]),
        ("GET ?x HTTP/1.1", &[400]),
        ("GET  / HTTP/1.1", &[400]),
        ("GET / HTTP/1.2", &[400, 505]),
        ("GET / HTTP/3.0", &[400, 505]),
        ("GET /", &[400]),
        ("GET /\u{0} HTTP/1.1", &[400]),
        ("GET /\u{7f} HTTP/1.1", &[400]),
        (&format!("GET {longer} HTTP/1.1"), &[414]),
        (&format!("GET {long} HTTP/1.1"), &[414, 431]),
    ] {
        let bytes = format!("{line}\r\nhost: shop.example\r\nconnection: close\r\n\r\n");
        let reply = talk(site.address(), bytes).await;
        let line: String = line.chars().take(60).collect();
        assert!(
            expected.contains(&reply.status()),
            "{line}: {}",
            reply.text()
        );
        let seen = site.a.take();
        assert_eq!(seen.len(), usize::from(reply.status() == 200), "{line}");
        for seen in seen {
            assert_eq!(seen.fault(), None, "{line}");
            assert_eq!(
                seen.field("host").as_deref(),
                Some("shop.example"),
                "{line}"
            );
        }
    }
    for fields in [
        "",
        "host: a\r\nhost: a\r\n",
        "host: a/b\r\n",
        "host: a b\r\n",
        "host: x@y\r\n",
        "host: \u{0}\r\n",
    ] {
        let reply = talk(
            site.address(),
            format!("GET / HTTP/1.1\r\nconnection: close\r\n{fields}\r\n"),
        )
        .await;
        assert_eq!(reply.status(), 400, "{fields:?}");
    }
    assert!(site.a.seen().is_empty());
}
