//! What a connection allows its client.

use std::net::SocketAddr;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::Instant;

use super::client::{layer, rollouts};
use crate::{app, serve, serve_connection};

/// Time is paused: it jumps to the next timer as soon as everything waits.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_finish_its_header_is_cut_off() {
    for sent in ["", "P", "POST /start HTTP/1.1\r\nhost: a\r\nx-slow: "] {
        let (mut client, server) = tokio::io::duplex(1024);
        let peer: SocketAddr = "192.0.2.7:4000".parse().unwrap();
        let (_running, told) = watch::channel(());
        let app = app(layer(&rollouts()).build().unwrap(), None);
        let served = serve_connection(TokioIo::new(server), peer, app, told);
        let served = tokio::spawn(served);
        client.write_all(sent.as_bytes()).await.unwrap();
        let limit = Duration::from_secs(60);
        let ended = tokio::time::timeout(limit, served).await;
        ended
            .unwrap_or_else(|_| panic!("{sent:?} holds its connection"))
            .unwrap();
    }
}

/// A connection that has had one request, and the seconds until it ends if `sent` is all that comes
/// after `idle`.
async fn seconds_until_closed(idle: Duration, sent: &str) -> u64 {
    let (mut client, server) = tokio::io::duplex(1024);
    let (_running, told) = watch::channel(());
    let app = app(layer(&rollouts()).build().unwrap(), None);
    let peer: SocketAddr = "192.0.2.7:4000".parse().unwrap();
    let served = serve_connection(TokioIo::new(server), peer, app, told);
    let served = tokio::spawn(served);
    probe(&mut client).await;
    tokio::time::sleep(idle).await;
    // still open after that time
    probe(&mut client).await;
    let start = Instant::now();
    client.write_all(sent.as_bytes()).await.unwrap();
    served.await.unwrap();
    start.elapsed().as_secs()
}

async fn probe(client: &mut DuplexStream) {
    let request = b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n";
    client.write_all(request).await.unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\nalive\n") {
        let read = client.read_buf(&mut seen).await.unwrap();
        assert!(read > 0, "closed while idle");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_kept_for_longer_than_balancers_keep_theirs() {
    let balancers = Duration::from_secs(75);
    assert_eq!(seconds_until_closed(balancers, "").await, 90);
    // the next header has no more time for that
    for begun in ["P", "POST /start HTTP/1.1\r\nhost: a\r\nx-slow: "] {
        assert_eq!(
            seconds_until_closed(balancers, begun).await,
            10,
            "{begun:?}"
        );
    }
}

#[tokio::test]
async fn a_request_over_tcp_is_answered_and_the_service_stops_when_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let app = app(layer(&rollouts()).build().unwrap(), None);
    let serving = tokio::spawn(serve(listener, app, async move {
        stopped.await.unwrap();
    }));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = b"POST /start HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    stop.send(()).unwrap();
    serving.await.unwrap();
}
