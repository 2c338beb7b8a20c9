//! Proxies in front that speak the PROXY protocol: whom endpoints are told of.

use affinity_tests::Scratch;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::raw::talk;
use affinity_tests::replica::Replica;

const OLD: &str = "9f1c2ab";

const VERSION_1: &[u8] = b"PROXY TCP4 203.0.113.7 192.0.2.1 4711 443\r\n";
/// `PROXY` over TCP and IPv4, from 203.0.113.7:4711.
const VERSION_2: &[u8] =
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xcb\0\x71\x07\xc0\0\x02\x01\x12\x67\x01\xbb";
/// From 10.1.2.3, another proxy that is believed.
const CHAINED: &[u8] = b"PROXY TCP4 10.1.2.3 192.0.2.1 4711 443\r\n";
const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";

async fn start(fleet: &Fleet, dir: &Scratch, trusted: &str) -> Replica {
    let mut config = Config::new(fleet, &[(OLD, 1)]);
    config.listen = format!("proxy_protocol = true\ntrusted_proxies = {trusted}");
    Replica::start(dir, &config).await
}

async fn refused(replica: &Replica) -> f64 {
    let samples = replica.admin.samples().await;
    samples.sum("affinity_proxy_headers_rejected_total", &[])
}

fn request(path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 198.51.100.9\r\nConnection: close\r\n\r\n"
    )
}

#[tokio::test]
async fn endpoints_are_told_of_the_client_that_the_proxy_names() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let replica = start(&fleet, &dir, "[\"127.0.0.0/8\", \"10.0.0.0/8\"]").await;
    for (path, header, told) in [
        // what a client says of itself is not believed
        ("/1", VERSION_1, "203.0.113.7"),
        ("/2", VERSION_2, "203.0.113.7"),
        // what a proxy behind the proxy says is
        ("/3", CHAINED, "198.51.100.9, 10.1.2.3"),
        ("/4", LOCAL, "198.51.100.9, 127.0.0.1"),
        ("/5", b"PROXY UNKNOWN\r\n", "198.51.100.9, 127.0.0.1"),
    ] {
        let bytes = [header, request(path).as_bytes()].concat();
        let answer = talk(replica.address(), bytes).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        let arrived = fleet.ledger().arrival(path).await;
        assert_eq!(
            arrived.field("x-forwarded-for"),
            Some(told.as_bytes()),
            "{path}"
        );
    }
    assert_eq!(refused(&replica).await, 0.0);
}

#[tokio::test]
async fn a_trusted_proxy_without_a_header_reaches_nobody() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let replica = start(&fleet, &dir, "[\"127.0.0.0/8\"]").await;
    let answer = talk(replica.address(), request("/")).await;
    assert_eq!(answer, "", "served without a header");
    let late = [request("/").as_bytes(), VERSION_1].concat();
    assert_eq!(talk(replica.address(), late).await, "", "a late header");
    assert!(fleet.ledger().is_empty(), "{:?}", fleet.ledger().entries());
    assert_eq!(refused(&replica).await, 2.0);
}

#[tokio::test]
async fn the_header_of_a_stranger_is_a_bad_request() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let replica = start(&fleet, &dir, "[\"192.0.2.0/24\"]").await;
    for header in [VERSION_1, VERSION_2] {
        let bytes = [header, request("/forged").as_bytes()].concat();
        let answer = talk(replica.address(), bytes).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
    assert!(fleet.ledger().is_empty(), "{:?}", fleet.ledger().entries());
    let answer = talk(replica.address(), request("/own")).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let arrived = fleet.ledger().arrival("/own").await;
    assert_eq!(arrived.field("x-forwarded-for"), Some(&b"127.0.0.1"[..]));
    assert_eq!(refused(&replica).await, 0.0, "a stranger is no proxy");
}
