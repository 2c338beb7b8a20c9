//! Heads that are large, many and slow to read: SEC-26, SEC-27, SEC-31 and SEC-48.

use std::time::Duration;

use affinity_tests::config::COOKIE;
use affinity_tests::until;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tokio::time::Instant;

use super::support::{Site, Talk, get, h2, talk};

/// Answers that a limit gives come from nobody else, so they are there at once; ten times as long
/// as promised, for the other tests beside this one.
const AT_ONCE: Duration = Duration::from_millis(500);

/// What is promised: the fastest of [`TRIES`] keeps it, whatever else the machine does.
const PROMISED: Duration = Duration::from_millis(50);
const TRIES: usize = 10;

#[tokio::test]
async fn sec_26_a_cookie_bomb_is_431_at_once_and_ends_only_its_connection() {
    let site = Site::start().await;
    let one = |name: usize, length: usize| format!("bomb{name}={}", "x".repeat(length));
    let lines = |cookies: Vec<String>| format!("cookie: {}\r\n", cookies.join("; "));
    let tiny = (0..2_000).map(|n| format!("cookie: t{n}=1\r\n"));
    for (what, fields) in [
        (
            "60 of 4 KiB",
            lines((0..60).map(|n| one(n, 4096)).collect()),
        ),
        ("one of 100 KiB", lines(vec![one(0, 100 * 1024)])),
        ("2,000 tiny lines", tiny.collect()),
        ("no end", format!("cookie: {}", "x".repeat(70 * 1024))),
    ] {
        let mut fastest = Duration::MAX;
        for _ in 0..TRIES {
            let before = Instant::now();
            let reply = talk(site.address(), get(&fields)).await;
            assert_eq!(reply.status(), 431, "{what}: {}", reply.text());
            fastest = fastest.min(before.elapsed());
        }
        assert!(fastest < PROMISED, "{what}: answered after {fastest:?}");
    }
    assert!(site.a.take().is_empty(), "a bomb reached an endpoint");
    let bombs = (4 * TRIES) as f64;
    // a client sees its end a moment before it is counted
    let samples = until("every end to be counted", async || {
        let samples = site.admin().samples().await;
        let ended = samples.sum(
            "affinity_connections_ended_total",
            &[("cause", "too_large")],
        );
        (ended == bombs).then_some(samples)
    })
    .await;
    let early = [("decision", "refused"), ("cause", "early")];
    assert_eq!(samples.sum("affinity_requests_total", &early), bombs);
}

#[tokio::test]
async fn sec_26_below_the_limit_our_cookie_is_found_wherever_it_stands() {
    let site = Site::start().await;
    let pin = site.pin_b().await;
    let ours = format!("{COOKIE}={pin}");
    let (half, all) = ("x".repeat(30_000), "x".repeat(60_000));
    for cookies in [
        format!("{ours}; bomb={all}"),
        format!("bomb={all}; {ours}"),
        format!("a={half}; {ours}; b={half}"),
    ] {
        let reply = talk(site.address(), get(format!("cookie: {cookies}\r\n"))).await;
        assert_eq!(reply.status(), 200, "{}", reply.text());
        assert_eq!(site.b.take().len(), 1, "our cookie was not found");
    }
    let many: Vec<_> = (0..500).map(|n| format!("t{n}=1")).collect();
    for at in [0, 250, 500] {
        let mut cookies = many.clone();
        cookies.insert(at, ours.clone());
        let line = format!("cookie: {}\r\n", cookies.join("; "));
        let reply = talk(site.address(), get(line)).await;
        assert_eq!(reply.status(), 200, "at {at}: {}", reply.text());
        assert_eq!(site.b.take().len(), 1, "not found at {at}");
    }
}

#[tokio::test]
async fn sec_27_crumbs_of_http_2_are_limited_together() {
    let site = Site::start().await;
    let pin = site.pin_b().await;
    let ask = async |before: usize, after: usize| {
        let mut request = Request::get("http://shop.example/");
        for n in 0..before {
            request = request.header("cookie", format!("t{n}=1"));
        }
        request = request.header("cookie", format!("{COOKIE}={pin}"));
        for n in 0..after {
            request = request.header("cookie", format!("u{n}=1"));
        }
        h2(
            site.address(),
            request.body(Full::<Bytes>::default()).unwrap(),
        )
        .await
    };
    for (before, after) in [(0, 150), (150, 0), (75, 75)] {
        let answer = ask(before, after).await.expect("it is below the limit");
        assert_eq!(answer.status(), 200);
        assert_eq!(site.b.take().len(), 1, "not found behind {before} crumbs");
    }
    // 10,000 crumbs are more fields than a client of this kind can build: see `tables`
    let bomb = ask(2_000, 0).await;
    let status = bomb.as_ref().map(|answer| answer.status().as_u16());
    assert!(
        status.is_err() || status.is_ok_and(|s| s == 431),
        "{bomb:?}"
    );
    assert!(site.b.take().is_empty(), "a bomb reached an endpoint");
}

#[tokio::test]
async fn sec_31_what_a_stranger_says_of_its_address_counts_for_nothing() {
    let site = Site::start().await;
    let talk_as = async |fields: String| {
        let before = Instant::now();
        let reply = talk(site.address(), get(fields)).await;
        assert!(
            before.elapsed() < AT_ONCE * 2,
            "after {:?}",
            before.elapsed()
        );
        (reply.status(), site.a.take())
    };
    let long = vec!["10.0.0.1"; 6_000].join(",");
    for value in [
        long.as_str(),
        ",,,,",
        "::::::",
        "\"",
        "127.0.0.1\u{b5}",
        " ",
    ] {
        let (status, seen) = talk_as(format!("x-forwarded-for: {value}\r\n")).await;
        assert_eq!(status, 200, "{value:.20}");
        let told = seen[0].field("x-forwarded-for");
        assert_eq!(told.as_deref(), Some("127.0.0.1"), "{value:.20}");
    }
    let many = "x-forwarded-for: 10.0.0.1\r\n".repeat(10_000);
    let (status, seen) = talk_as(many).await;
    assert_eq!((status, seen.len()), (431, 0));
}

#[tokio::test]
async fn sec_31_a_trusted_proxy_s_endless_list_is_read_in_time() {
    let site = Site::with(|config| {
        config.listen = "trusted_proxies = [\"127.0.0.0/8\", \"10.0.0.0/8\"]\n\
                         max_header_bytes = 262144"
            .to_owned();
    })
    .await;
    for list in [
        vec!["10.0.0.1"; 10_000].join(", "),
        format!("203.0.113.9, {}", vec!["10.0.0.1"; 10_000].join(",")),
        format!("{}, x, 10.0.0.1", ",".repeat(100_000)),
    ] {
        let before = Instant::now();
        let reply = talk(site.address(), get(format!("x-forwarded-for: {list}\r\n"))).await;
        assert_eq!(reply.status(), 200);
        assert!(
            before.elapsed() < AT_ONCE * 4,
            "after {:?}",
            before.elapsed()
        );
        assert_eq!(site.a.take().len(), 1);
    }
}

/// Every expectation ends here: one request on the wire, and nothing of the body becomes one.
#[tokio::test]
async fn sec_43_an_expectation_leaves_one_request_on_the_wire() {
    let site = Site::start().await;
    for (line, expect) in [
        ("POST", "100-continue"),
        ("POST", "100-Continue"),
        ("POST", "y 100-continue"),
        ("POST", "100-continue, 100-continue"),
        ("POST", "100-continue\r\nexpect: 100-continue"),
        ("POST", ""),
        ("GET", "100-continue"),
        ("GET", "200-ok"),
    ] {
        let smuggled = "GET /smuggled HTTP/1.1\r\nhost: shop.example\r\n\r\n";
        let length = smuggled.len();
        let mut talk = Talk::open(site.address()).await;
        let head = format!(
            "{line} / HTTP/1.1\r\nhost: shop.example\r\nexpect: {expect}\r\n\
             connection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        talk.write(head + smuggled).await;
        let reply = talk.end().await;
        let text = reply.text();
        let finals = text.matches("HTTP/1.1 ").count() - text.matches("HTTP/1.1 100 ").count();
        assert_eq!(finals, 1, "{expect:?}: {text}");
        let seen = site.a.take();
        assert!(seen.len() <= 1, "{expect:?} became {} requests", seen.len());
        for request in seen {
            assert_eq!(request.fault(), None, "{expect:?}: {}", request.shown());
            assert_eq!(request.body, smuggled.as_bytes(), "{expect:?}");
            assert_eq!(request.field("expect"), None);
        }
    }
    assert!(
        site.a.torn().is_empty(),
        "half a request reached the endpoint"
    );
}

/// The limit of fields makes it pointless to look for names that hash alike.
#[tokio::test]
async fn sec_48_no_request_has_so_many_names_that_they_could_collide() {
    let site = Site::start().await;
    let names: String = (0..100_000).map(|n| format!("x-{n}: 1\r\n")).collect();
    let before = Instant::now();
    let reply = talk(site.address(), get(names)).await;
    assert_eq!(reply.status(), 431, "{}", reply.text());
    assert!(
        before.elapsed() < AT_ONCE * 2,
        "after {:?}",
        before.elapsed()
    );
    let mut request = Request::get("http://shop.example/");
    for n in 0..1_000 {
        request = request.header(format!("x-{n}"), "1");
    }
    let answer = h2(
        site.address(),
        request.body(Full::<Bytes>::default()).unwrap(),
    )
    .await;
    let status = answer.as_ref().map(|answer| answer.status().as_u16());
    assert!(
        status.is_err() || status.is_ok_and(|s| s == 431),
        "{answer:?}"
    );
    assert!(site.a.take().is_empty(), "it reached an endpoint");
}
