//! HTTP/2 by hand: header lists that no client library would send.

use affinity_tests::BOUND;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::support::{A, B, Site, get, talk};

type Field<'a> = (&'a str, &'a str);

const METHOD: Field<'_> = (":method", "GET");
const SCHEME: Field<'_> = (":scheme", "http");
const PATH: Field<'_> = (":path", "/");
const AUTHORITY: Field<'_> = (":authority", "shop.example");

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Each field as a literal without an index and without Huffman.
fn block(fields: &[Field<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.push(0);
        for text in [name, value] {
            bytes.push(
                u8::try_from(text.len())
                    .ok()
                    .filter(|len| *len < 127)
                    .unwrap(),
            );
            bytes.extend_from_slice(text.as_bytes());
        }
    }
    bytes
}

/// Whether the stream was answered with a header list; otherwise it or the connection was ended.
async fn answered(site: &Site, fields: &[Field<'_>]) -> bool {
    let mut stream = TcpStream::connect(site.address()).await.unwrap();
    let bytes = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(SETTINGS, 0, 0, &[]),
        frame(HEADERS, 0x5, 1, &block(fields)),
    ];
    stream.write_all(&bytes.concat()).await.unwrap();
    let read = async {
        loop {
            let mut head = [0; 9];
            if stream.read_exact(&mut head).await.is_err() {
                return false;
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; usize::try_from(length).unwrap()];
            if stream.read_exact(&mut payload).await.is_err() {
                return false;
            }
            match (head[3], head[8]) {
                (HEADERS, 1) => return true,
                (RST_STREAM, 1) | (GOAWAY, _) => return false,
                _ => {}
            }
        }
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
    lists.push(vec![
        (":method", "CONNECT"),
        (":protocol", "websocket"),
        SCHEME,
        PATH,
        AUTHORITY,
    ]);
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
