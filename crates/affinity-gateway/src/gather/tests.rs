//! When the bytes of a write are on their way, as its peer sees it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream as Peer,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::yield_now,
    time::timeout,
};

use super::{Gathered, MOST, outgoing::MOST_BYTES, run};

/// A connection, and its peer, which blocks for nothing.
async fn pair() -> (Gathered, Peer) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap());
    let (accepted, stream) = tokio::join!(listener.accept(), stream);
    let peer = accepted.unwrap().0.into_std().unwrap();
    let stream = stream.unwrap();
    stream.set_nodelay(true).unwrap();
    (Gathered::new(stream), peer)
}

/// As on the thread of a worker.
async fn gather() {
    tokio::spawn(run());
    yield_now().await;
}

/// What has arrived; `None` at the end of the stream.
fn arrived(peer: &mut Peer) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    let mut piece = [0; 64 * 1024];
    loop {
        match peer.read(&mut piece) {
            Ok(0) if all.is_empty() => return None,
            Ok(0) => return Some(all),
            Ok(length) => all.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(all),
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_write_waits_for_what_is_ready_and_for_nothing_else() {
    gather().await;
    let (mut stream, mut peer) = pair().await;
    stream.write_all(b"one").await.unwrap();
    stream.write_all(b"two").await.unwrap();
    stream.flush().await.unwrap();
    assert_eq!(arrived(&mut peer).unwrap(), b"", "it was sent at once");
    yield_now().await;
    assert_eq!(arrived(&mut peer).unwrap(), b"onetwo");
}

#[tokio::test]
async fn enough_writes_wait_for_nothing() {
    gather().await;
    let mut pairs = Vec::new();
    for _ in 0..MOST {
        pairs.push(pair().await);
    }
    for (stream, _) in &mut pairs {
        stream.write_all(b"mine").await.unwrap();
    }
    for (_, peer) in &mut pairs {
        assert_eq!(arrived(peer).unwrap(), b"mine");
    }
}

#[tokio::test]
async fn where_nobody_gathers_a_write_goes_out_at_once() {
    let (mut stream, mut peer) = pair().await;
    stream.write_all(b"now").await.unwrap();
    assert_eq!(arrived(&mut peer).unwrap(), b"now");
}

#[tokio::test]
async fn small_and_large_writes_keep_their_order() {
    gather().await;
    let (mut stream, mut peer) = pair().await;
    let large = vec![b'x'; MOST_BYTES + 1];
    stream.write_all(b"small").await.unwrap();
    stream.write_all(&large).await.unwrap();
    stream.write_all(b"last").await.unwrap();
    yield_now().await;
    let expected = [b"small", &large[..], b"last"].concat();
    assert!(arrived(&mut peer).unwrap() == expected, "another order");
}

#[tokio::test]
async fn many_small_writes_to_one_peer_are_never_kept_beyond_the_most() {
    gather().await;
    let (mut stream, mut peer) = pair().await;
    let piece = vec![b'x'; MOST_BYTES / 2 + 1];
    stream.write_all(&piece).await.unwrap();
    stream.write_all(&piece).await.unwrap();
    assert_eq!(
        arrived(&mut peer).unwrap().len(),
        piece.len(),
        "the first had to make room for the second"
    );
    yield_now().await;
    assert_eq!(arrived(&mut peer).unwrap().len(), piece.len());
}

/// The socket takes a few megabytes, then nothing until the peer reads.
#[tokio::test]
async fn a_peer_that_takes_nothing_holds_the_writer_up_and_loses_nothing() {
    gather().await;
    let (mut stream, mut peer) = pair().await;
    let mut sent = Vec::new();
    let held_up = async {
        for number in 0_u32.. {
            let piece = number.to_be_bytes().repeat(256);
            stream.write_all(&piece).await.unwrap();
            sent.extend_from_slice(&piece);
            yield_now().await;
        }
    };
    let held_up = timeout(Duration::from_secs(2), held_up).await;
    held_up.expect_err("there is no end to what is kept");
    let mut seen = Vec::new();
    let reading = async {
        while seen.len() < sent.len() {
            seen.extend(arrived(&mut peer).expect("the connection is open"));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let (read, written) = tokio::join!(
        timeout(Duration::from_secs(10), reading),
        timeout(Duration::from_secs(10), stream.write_all(b"")),
    );
    read.expect("all that was taken arrives");
    written.expect("the writer goes on").unwrap();
    assert!(seen.starts_with(&sent), "not what was sent");
}

#[tokio::test]
async fn what_was_written_arrives_though_the_connection_is_dropped() {
    gather().await;
    let (mut stream, mut peer) = pair().await;
    stream.write_all(b"last words").await.unwrap();
    drop(stream);
    yield_now().await;
    assert_eq!(arrived(&mut peer).unwrap(), b"last words");
    assert_eq!(arrived(&mut peer), None, "the connection is open still");
}

/// Its peer would have us wait as long as it takes nothing.
#[tokio::test]
async fn a_connection_that_is_dropped_while_its_peer_takes_nothing_is_closed_at_once() {
    gather().await;
    let (mut stream, mut peer) = pair().await;
    let held_up = async {
        loop {
            stream.write_all(&[0; 1024]).await.unwrap();
            yield_now().await;
        }
    };
    let held_up = timeout(Duration::from_secs(2), held_up).await;
    held_up.expect_err("there is no end to what is kept");
    drop(stream);
    let refused = async {
        while peer.write_all(b"is anybody there?").is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let refused = timeout(Duration::from_secs(5), refused).await;
    refused.expect("the connection is open still");
}

#[tokio::test]
async fn the_end_comes_behind_what_was_written() {
    gather().await;
    let (mut stream, mut peer) = pair().await;
    stream.write_all(b"last words").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(arrived(&mut peer).unwrap(), b"last words");
    assert_eq!(arrived(&mut peer), None);
    peer.write_all(b"heard").unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"heard", "the other direction is closed as well");
}

#[tokio::test]
async fn a_write_that_failed_is_told_to_the_next_one() {
    gather().await;
    let (mut stream, peer) = pair().await;
    drop(peer);
    let mut written = Ok(());
    for _ in 0..100 {
        written = stream.write_all(b"to nobody").await;
        if written.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let kind = written.expect_err("nobody is told").kind();
    let gone = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
    assert!(gone.contains(&kind), "{kind}");
}

#[tokio::test]
async fn what_is_due_goes_out_when_nobody_gathers_any_more() {
    let writer = tokio::spawn(run());
    yield_now().await;
    let (mut stream, mut peer) = pair().await;
    stream.write_all(b"due").await.unwrap();
    writer.abort();
    writer.await.unwrap_err();
    assert_eq!(arrived(&mut peer).unwrap(), b"due");
    stream.write_all(b"at once").await.unwrap();
    assert_eq!(arrived(&mut peer).unwrap(), b"at once");
}
