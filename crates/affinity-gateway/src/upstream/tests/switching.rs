//! Upgrades: a tunnel after a real 101, and only then.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::{net::SocketAddr, time::Duration};

use crate::{
    serve::ServeOptions,
    upstream::UpstreamOptions,
    wire::{Running, Wire, endpoint, eventually},
};

const UPGRADE: &str = "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\n\
                       Upgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n";

/// Agrees to switch and then sends back what it gets, word by word.
async fn echo() -> SocketAddr {
    endpoint(|mut wire| async move {
        let head = wire.head().await;
        assert!(head.contains("\r\nupgrade: websocket\r\n"), "{head}");
        assert!(head.contains("\r\nconnection: upgrade\r\n"), "{head}");
        wire.send(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: v\r\n\r\n",
        )
        .await;
        while let Some(word) = wire.word().await {
            wire.send(word).await;
        }
    })
    .await
}

async fn upgraded(gateway: &Running) -> Wire {
    let mut client = Wire::connect(gateway.address).await;
    client.send(UPGRADE).await;
    let head = client.head().await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    for line in [
        "upgrade: websocket",
        "connection: upgrade",
        "sec-websocket-accept: v",
    ] {
        assert!(
            head.contains(&format!("\r\n{line}\r\n")),
            "{line} is missing: {head}"
        );
    }
    client
}

#[tokio::test]
async fn tunnel_carries_both_ways_and_holds_its_lease_to_the_end() {
    let gateway = Running::proxy(echo().await).await;
    let mut client = upgraded(&gateway).await;
    for word in ["one.", "two."] {
        client.send(word).await;
        assert_eq!(client.until(".").await, word);
        assert_eq!(gateway.held(), 1, "the lease of an open tunnel");
        assert_eq!(gateway.tunnels.len(), 1);
    }
    drop(client);
    eventually("the lease to be released", || gateway.held() == 0).await;
    eventually("the tunnel to end", || gateway.tunnels.is_empty()).await;
}

#[tokio::test]
async fn bytes_sent_before_the_101_reach_the_tunnel() {
    let gateway = Running::proxy(echo().await).await;
    let mut client = Wire::connect(gateway.address).await;
    client.send(format!("{UPGRADE}early.")).await;
    client.head().await;
    assert_eq!(client.until(".").await, "early.");
}

/// SEC-41.
#[tokio::test]
async fn refused_upgrade_is_an_ordinary_answer() {
    let address = endpoint(|mut wire| async move {
        wire.head().await;
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nno!")
            .await;
        let next = wire.head().await;
        assert!(next.starts_with("GET /next HTTP/1.1\r\n"), "{next}");
        assert!(
            next.contains("x-forwarded-for"),
            "bytes that were not read as a request"
        );
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n!!")
            .await;
    })
    .await;
    let gateway = Running::proxy(address).await;
    let mut client = Wire::connect(gateway.address).await;
    client
        .send(format!("{UPGRADE}GET /next HTTP/1.1\r\nHost: a\r\n\r\n"))
        .await;
    assert!(client.until("no!").await.starts_with("HTTP/1.1 200 "));
    client.until("!!").await;
    assert!(gateway.tunnels.is_empty());
    assert_eq!(gateway.held(), 0);
}

/// The answer decides what follows such a request, so its bytes are not read on meanwhile.
#[tokio::test]
async fn a_client_that_leaves_before_its_upgrade_is_answered_frees_its_endpoint() {
    for sent in [UPGRADE.to_owned(), format!("{UPGRADE}early.")] {
        let address = endpoint(|mut wire| async move {
            wire.rest().await;
        })
        .await;
        let gateway = Running::proxy(address).await;
        let mut client = Wire::connect(gateway.address).await;
        client.send(&sent).await;
        eventually("the request", || gateway.held() == 1).await;
        drop(client);
        eventually("the lease to be released", || gateway.held() == 0).await;
    }
}

#[tokio::test]
async fn switching_unasked_is_a_fault_of_the_endpoint() {
    let address = endpoint(|mut wire| async move {
        let head = wire.head().await;
        assert!(!head.contains("upgrade"), "{head}");
        wire.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n")
            .await;
        wire.rest().await;
    })
    .await;
    let gateway = Running::proxy(address).await;
    for asked in [
        "",
        // Without `Connection: upgrade` the field asks for nothing.
        "Upgrade: websocket\r\n",
        // Requests behind a switch to HTTP/2 would pass unseen.
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
        "Connection: upgrade\r\nUpgrade: websocket, H2C\r\n",
    ] {
        let mut client = Wire::connect(gateway.address).await;
        client
            .send(format!("GET / HTTP/1.1\r\nHost: a\r\n{asked}\r\n"))
            .await;
        let answer = client.until("Protocol").await;
        assert!(answer.starts_with("HTTP/1.1 502 "), "{asked}: {answer}");
    }
    assert!(gateway.tunnels.is_empty());
}

#[tokio::test]
async fn graceful_end_waits_for_tunnels() {
    let gateway = Running::proxy(echo().await).await;
    let mut client = upgraded(&gateway).await;
    gateway.stop();
    client.send("still.").await;
    assert_eq!(client.until(".").await, "still.");
    drop(client);
    assert!(gateway.ended().await.is_clean());
}

/// A client that reads the end and then goes.
#[tokio::test]
async fn graceful_end_asks_a_websocket_to_come_back() {
    let options = ServeOptions::new().drain_deadline(Duration::from_millis(500));
    let gateway = Running::proxy_with(echo().await, UpstreamOptions::new(), options).await;
    let mut client = upgraded(&gateway).await;
    gateway.stop();
    assert_eq!(client.bytes_until(RESTART).await, RESTART);
    assert_eq!(client.rest().await, "", "bytes behind the close frame");
    drop(client);
    let drained = gateway.ended().await;
    assert_eq!((drained.asked, drained.tunnels), (1, 0));
}

/// A client that does not heed its close frame.
#[tokio::test]
async fn deadline_cuts_tunnels() {
    let options = ServeOptions::new().drain_deadline(Duration::from_millis(50));
    let gateway = Running::proxy_with(echo().await, UpstreamOptions::new(), options).await;
    let mut client = upgraded(&gateway).await;
    gateway.stop();
    let drained = gateway.ended().await;
    assert_eq!((drained.connections, drained.tunnels), (0, 1));
    assert_eq!(client.bytes_until(RESTART).await, RESTART);
    assert_eq!(client.rest().await, "");
}

/// The code 1012.
const RESTART: &[u8] = &[0x88, 0x02, 0x03, 0xf4];
