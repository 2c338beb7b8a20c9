//! SEC-27: few bytes of HTTP/2 that stand for many, by the table of header fields.

use affinity_tests::BOUND;
use affinity_tests::config::COOKIE;
use affinity_tests::http2::{
    Connection, Field, Frame, PREFACE, block, code, flag, frame, indexed, kind, literal, request,
    status,
};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tokio::time::timeout;

use super::support::{Site, h2};

const HEAD: [Field<'static>; 4] = [
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "shop.example"),
];

/// The octet that adds a literal to the table, and where the newest entry stands then.
const ADDED: u8 = 0x40;
const NEWEST: usize = 62;

/// A connection, and a stream 1 whose request is sent but for its body.
async fn open(site: &Site) -> Connection {
    let mut connection = Connection::open(site.address()).await;
    let settings = frame(kind::SETTINGS, flag::NONE, 0, &[]);
    let mut post = HEAD;
    post[0] = (":method", "POST");
    let begun = frame(kind::HEADERS, flag::END_HEADERS, 1, &block(&post));
    connection
        .write(&[PREFACE, &settings, &begun].concat())
        .await;
    connection
}

/// Waits for an answer or an end of `stream`.
async fn told(connection: &mut Connection, stream: u32) -> Frame {
    let told = async {
        loop {
            let frame = connection.next().await.expect("the connection stays open");
            assert_ne!(frame.kind, kind::GOAWAY, "others are harmed: {frame}");
            if frame.stream == stream && [kind::HEADERS, kind::RST_STREAM].contains(&frame.kind) {
                return frame;
            }
        }
    };
    let told = timeout(BOUND, told).await;
    told.unwrap_or_else(|_| panic!("stream {stream} is told nothing"))
}

/// A head in one frame that sends one entry and refers to it again and again.
fn bomb((name, value): Field<'_>, times: usize) -> Vec<u8> {
    let mut fields = block(&HEAD);
    fields.extend(literal(ADDED, name, value));
    fields.extend(indexed(NEWEST).repeat(times));
    let end = flag::END_HEADERS | flag::END_STREAM;
    frame(kind::HEADERS, end, 3, &fields)
}

/// The bomb is refused, and the other streams of its connection are served as if it had not been.
async fn ends_its_stream(site: &Site, field: Field<'_>, times: usize) {
    let mut connection = open(site).await;
    connection.write(&bomb(field, times)).await;
    let refused = told(&mut connection, 3).await;
    assert_eq!(status(&refused.payload), Some(431), "{times}: {refused}");

    let last = frame(kind::DATA, flag::END_STREAM, 1, b"whole");
    connection.write(&[last, request(5, &HEAD)].concat()).await;
    let mut open = vec![1, 5];
    while !open.is_empty() {
        let frame = timeout(BOUND, connection.next()).await;
        let frame = frame.expect("streams 1 and 5 are answered");
        let frame = frame.expect("the connection stays open");
        assert_ne!(frame.kind, kind::RST_STREAM, "others are harmed: {frame}");
        if frame.ends_stream() {
            open.retain(|stream| *stream != frame.stream);
        }
    }
    let bodies: Vec<_> = site.a.take().into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies.len(), 2, "{times}: the endpoint got more or less");
    let whole = |body: &Vec<u8>| body.windows(5).any(|five| five == b"whole");
    assert!(bodies.iter().any(whole), "{times}: a body is lost");
}

/// The bomb is so large that its connection is ended, and nobody else notices.
async fn ends_its_connection(site: &Site, field: Field<'_>, times: usize) {
    let (mut other, mut connection) = (open(site).await, open(site).await);
    connection.write(&bomb(field, times)).await;
    let ended = async {
        let mut code = None;
        while let Some(frame) = connection.next().await {
            assert_ne!(frame.stream, 3, "it is answered: {frame}");
            code = frame.code().or(code);
        }
        code
    };
    let code = timeout(BOUND, ended).await.expect("the connection ends");
    assert_eq!(code, Some(code::ENHANCE_YOUR_CALM), "{times}");
    let last = frame(kind::DATA, flag::END_STREAM, 1, b"whole");
    other.write(&last).await;
    let answer = told(&mut other, 1).await;
    assert_eq!(status(&answer.payload), Some(200), "{answer}");
    assert_eq!(site.a.take().len(), 1, "{times}: the endpoint got the bomb");
}

/// The table has 4,096 bytes, 32 of them for the entry itself.
const ENTRY: usize = 4_000;

/// The limit is 16 KiB; HTTP/2's library ends the connection at four times as much.
#[tokio::test]
async fn sec_27_references_to_a_large_entry_are_refused() {
    let site = Site::start().await;
    let value = "x".repeat(ENTRY);
    for times in [4, 8, 14] {
        ends_its_stream(&site, ("x-bomb", &value), times).await;
    }
    // 40 MB of fields in 14 KB
    for times in [20, 1_000, 10_000] {
        ends_its_connection(&site, ("x-bomb", &value), times).await;
    }
}

#[tokio::test]
async fn sec_27_crumbs_beyond_the_limit_are_refused() {
    let site = Site::start().await;
    // 42 bytes each, with the 32 for a field
    for times in [400, 1_500] {
        ends_its_stream(&site, ("cookie", "t=01"), times).await;
    }
    for times in [2_000, 10_000] {
        ends_its_connection(&site, ("cookie", "t=01"), times).await;
    }
}

/// The limit is a quarter of that of HTTP/1.1, 16 KiB: what is below it is read to its end.
#[tokio::test]
async fn sec_26_our_cookie_is_found_wherever_it_stands_in_http_2() {
    let site = Site::start().await;
    let ours = format!("{COOKIE}={}", site.pin_b().await);
    let (half, all) = ("x".repeat(7_000), "x".repeat(14_000));
    let (one, two) = (format!("a={half}"), format!("b={half}"));
    let bomb = format!("bomb={all}");
    for crumbs in [
        vec![format!("{ours}; {bomb}")],
        vec![format!("{bomb}; {ours}")],
        vec![format!("{one}; {ours}; {two}")],
        vec![ours.clone(), bomb.clone()],
        vec![bomb, ours.clone()],
        vec![one, ours.clone(), two],
    ] {
        let mut request = Request::get("http://shop.example/");
        for crumb in &crumbs {
            request = request.header("cookie", crumb);
        }
        let request = request.body(Full::<Bytes>::default()).unwrap();
        let answer = h2(site.address(), request).await;
        let answer = answer.expect("it is below the limit");
        assert_eq!(answer.status(), 200);
        let at = crumbs.iter().position(|crumb| crumb.contains(&ours));
        assert_eq!(
            site.b.take().len(),
            1,
            "not found in crumb {at:?} of {}",
            crumbs.len()
        );
    }
}
