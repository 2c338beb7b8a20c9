//! What others say under our names.

use super::support::{GATEWAY, assert_nobody, gateways, pinned, request, send};
use crate::FromGatewayLayer;

fn layer() -> FromGatewayLayer {
    FromGatewayLayer::new(gateways())
}

#[tokio::test]
async fn sec_29_spoofed_headers_of_an_untrusted_peer_are_removed() {
    for peer in [Some("10.0.8.3:4711"), Some("[::1]:1"), None] {
        let mut headers = pinned();
        headers.extend([
            ("affinity_group", "forged"),
            ("affinity.session", "forged"),
            ("affinity-of-tomorrow", "forged"),
            ("affinity-pin", "forged"),
            ("x-affinity-group", "the client's"),
        ]);
        let seen = send(layer(), request(peer, &headers)).await;
        assert_nobody(&seen, "untrusted", &format!("{peer:?}"));
        assert_eq!(seen.headers.len(), 1, "all else is left");
        assert_eq!(seen.headers["x-affinity-group"], "the client's");
    }
}

#[tokio::test]
async fn a_twin_alone_is_spoofed_too() {
    let seen = send(layer(), request(None, &[("affinity_group", "forged")])).await;
    assert_nobody(&seen, "untrusted", "underscore");
}

#[tokio::test]
async fn an_untrusted_peer_that_says_nothing_is_served_and_not_counted() {
    let seen = send(layer(), request(None, &[("accept", "a")])).await;
    assert!(seen.affinity.is_none());
    assert!(seen.counted.is_empty(), "{:?}", seen.counted);
}

#[tokio::test]
async fn an_address_that_is_written_as_one_of_ipv6_is_the_same() {
    let mapped = format!("[::ffff:{}]:4711", GATEWAY.split(':').next().unwrap());
    let seen = send(layer(), request(Some(&mapped), &pinned())).await;
    assert!(seen.affinity.is_some());
}
