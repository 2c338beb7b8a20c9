//! What a connection allows its client.

use std::net::SocketAddr;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

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
        let limit = std::time::Duration::from_secs(60);
        let ended = tokio::time::timeout(limit, served).await;
        ended
            .unwrap_or_else(|_| panic!("{sent:?} holds its connection"))
            .unwrap();
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
