//! HTTP/2 by hand: header lists that no client library would send.

use affinity_tests::BOUND;
use affinity_tests::http2::{Connection, Field, PREFACE, flag, frame, kind, request};
use tokio::time::timeout;

use super::support::{A, B, Site, get, talk};

const METHOD: Field<'_> = (":method", "GET");
const SCHEME: Field<'_> = (":scheme", "http");
const PATH: Field<'_> = (":path", "/");
const AUTHORITY: Field<'_> = (":authority", "shop.example");

/// Whether the stream was answered with a header list; otherwise it or the connection was ended.
async fn answered(site: &Site, fields: &[Field<'_>]) -> bool {
    let mut connection = Connection::open(site.address()).await;
    let settings = frame(kind::SETTINGS, flag::NONE, 0, &[]);
    let bytes = [PREFACE, &settings, &request(1, fields)].concat();
    connection.write(&bytes).await;
    let read = async {
        while let Some(frame) = connection.next().await {
            match (frame.kind, frame.stream) {
                (kind::HEADERS, 1) => return true,
                (kind::RST_STREAM, 1) | (kind::GOAWAY, _) => return false,
                _ => {}
            }
        }
        false
    };
    timeout(BOUND, read)
        .await
        .expect("answered or ended in time")
}

#[tokio::test]
async fn sec_42_a_list_that_cannot_be_written_as_http_1_reaches_nobody() {
    let site = Site::start().await;
    let base = [METHOD, SCHEME, PATH, AUTHORITY];
    let mut lists: Vec<Vec<Field<'_>>> = Vec::new();
    for field in [
        ("transfer-encoding", "chunked"),
        ("connection", "close"),
        ("proxy-connection", "x"),
        ("keep-alive", "x"),
        ("upgrade", "websocket"),
        ("te", "gzip"),
        ("host", "other.example"),
        ("host", "shop.example:81"),
        ("x", "a\r\nsmuggled: 1"),
        ("x", "a\nsmuggled: 1"),
        ("x", "a\0"),
        ("x\r\nsmuggled", "1"),
        ("x: 1\r\nsmuggled", "1"),
        ("X-Upper", "1"),
        ("x y", "1"),
        ("", "1"),
        ("content-length", "5"),
        ("content-length", "x"),
        (":x", "1"),
        (":path", "/twice"),
        (":method", "POST"),
        (":authority", "other.example"),
        (":status", "200"),
    ] {
        lists.push([&base[..], &[field]].concat());
    }
    for path in [
        "/\r\nsmuggled: 1",
        "/ HTTP/1.1\r\nsmuggled: 1\r\nx:",
        "x",
        "",
        "*",
        "http://other.example/",
        "/\0",
    ] {
        lists.push(vec![METHOD, SCHEME, (":path", path), AUTHORITY]);
    }
    for authority in [
        "a\r\nsmuggled: 1",
        "x@shop.example",
        "a b",
        "a/b",
        "",
        "[::1",
    ] {
        lists.push(vec![METHOD, SCHEME, PATH, (":authority", authority)]);
    }
    for method in [
        "GET /smuggled HTTP/1.1\r\nx:",
        "CONNECT",
        "TRACE",
        "",
        "G T",
    ] {
        lists.push(vec![(":method", method), SCHEME, PATH, AUTHORITY]);
    }
    lists.push(vec![(":method", "CONNECT"), AUTHORITY]);
    // a WebSocket can be asked for in HTTP/1.1 as well, but nothing else, and not by GET
    for (method, protocol) in [("CONNECT", "connect-udp"), ("GET", "websocket")] {
        let protocol = (":protocol", protocol);
        lists.push(vec![(":method", method), protocol, SCHEME, PATH, AUTHORITY]);
    }
    lists.push(vec![SCHEME, PATH, AUTHORITY]);
    lists.push(vec![METHOD, SCHEME, AUTHORITY]);
    lists.push(vec![METHOD, SCHEME, PATH]);
    lists.push(vec![METHOD, SCHEME, ("x", "1"), PATH, AUTHORITY]);
    for list in &lists {
        answered(&site, list).await;
        let seen = [site.a.take(), site.b.take()].concat();
        assert!(seen.is_empty(), "{list:?} became {}", seen[0].shown());
    }
    assert!(
        site.a.torn().is_empty(),
        "half a request reached the endpoint"
    );
    // as it is, it is served; so the lists were refused for what is wrong with them
    assert!(answered(&site, &base).await);
    assert_eq!(site.a.take().len(), 1);
    assert_eq!(talk(site.address(), get("")).await.status(), 200);
}

#[tokio::test]
async fn sec_29_our_names_are_removed_from_http_2_as_well() {
    let site = Site::start().await;
    let spoofed = [
        ("affinity-group", B),
        ("affinity_group", B),
        ("affinity-decision", "spoofed"),
    ];
    assert!(
        answered(
            &site,
            &[&[METHOD, SCHEME, PATH, AUTHORITY][..], &spoofed].concat()
        )
        .await
    );
    let seen = site.a.take().remove(0);
    assert_eq!(seen.field("affinity-group").as_deref(), Some(A));
    assert_eq!(seen.field("affinity_group"), None);
    assert_eq!(seen.decision(), "assigned; cause=new");
}
