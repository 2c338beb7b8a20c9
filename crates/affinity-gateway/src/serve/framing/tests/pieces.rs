//! The stream, whose bytes come in any pieces.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use proptest::prelude::*;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};

use super::super::{Framed, Gate};
use super::LIMITS;

const WITHIN: Duration = LIMITS.within;

fn framed<I>(inner: I, gate: &Gate) -> Framed<I> {
    Framed::new(inner, gate.clone(), LIMITS)
}

/// Bytes that come in pieces of these lengths, in turn, and then no more.
struct Pieces<'a> {
    rest: &'a [u8],
    lengths: std::iter::Cycle<std::slice::Iter<'a, usize>>,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let length = *self.lengths.next().unwrap();
        let (piece, rest) = self
            .rest
            .split_at(length.min(self.rest.len()).min(out.remaining()));
        out.put_slice(piece);
        self.rest = rest;
        Poll::Ready(Ok(()))
    }
}

/// Everything that comes out of `bytes`; a stand-in is the last.
async fn read_in(bytes: &[u8], lengths: &[usize]) -> Vec<u8> {
    let lengths = lengths.iter().cycle();
    let mut stream = framed(
        Pieces {
            rest: bytes,
            lengths,
        },
        &Gate::default(),
    );
    let mut out = Vec::new();
    let read = async { while let Ok(1..) = stream.read_buf(&mut out).await {} };
    // after a refusal nothing ever comes
    drop(tokio::time::timeout(WITHIN * 2, read).await);
    out
}

fn message() -> impl Strategy<Value = Vec<u8>> {
    let body = proptest::collection::vec(any::<u8>(), 0..40);
    let head = prop_oneof![
        4 => Just("host: a"),
        1 => Just("host: a\nx: y"),
        1 => Just("x: y\r\n z"),
        1 => Just("content-length: 4"),
        1 => Just("upgrade: x"),
    ];
    (head, body, any::<bool>(), 1_usize..9).prop_map(|(head, body, chunked, size)| {
        let mut bytes = format!("POST /{} HTTP/1.1\r\n{head}\r\n", body.len()).into_bytes();
        if chunked {
            bytes.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
            for chunk in body.chunks(size) {
                bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                bytes.extend_from_slice(chunk);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
        } else {
            bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
            bytes.extend_from_slice(&body);
        }
        bytes
    })
}

fn at(bytes: &[u8], lengths: &[usize]) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(read_in(bytes, lengths))
}

proptest! {
    #[test]
    fn pieces_change_nothing(
        messages in proptest::collection::vec(message(), 1..5),
        lengths in proptest::collection::vec(1_usize..40, 1..8),
        flipped in proptest::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut bytes = messages.concat();
        if let Some((at, byte)) = flipped {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let stand_in = super::super::stream::STAND_IN;
        let whole = at(&bytes, &[usize::MAX]);
        for lengths in [&lengths[..], &[1]] {
            let out = at(&bytes, lengths);
            // within a line that never ends a fault is not found before the time is up
            let unfound = [&out[..], stand_in].concat() == whole;
            prop_assert!(out == whole || unfound, "{:?} for {:?}", out, whole);
        }
        // nothing is made up but the stand-in
        let kept = whole.strip_suffix(stand_in).unwrap_or(&whole);
        prop_assert!(bytes.starts_with(kept), "{:?} is not the beginning of {:?}", kept, bytes);
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_head_that_does_not_come_is_not_waited_for() {
    for begun in ["", "P", "PRI * HT", "GET / HTTP/1.1\r\nhost"] {
        let (mut client, server) = tokio::io::duplex(64);
        client.write_all(begun.as_bytes()).await.unwrap();
        let mut stream = framed(server, &Gate::default());
        let read = tokio::time::timeout(WITHIN * 2, stream.read_u8()).await;
        let error = read.expect("given up in time").expect_err("no head came");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{begun:?}");
    }
}

#[tokio::test]
async fn a_tunnel_is_not_looked_at() {
    let ask = b"GET / HTTP/1.1\r\nupgrade: x\r\n\r\n";
    let (mut client, server) = tokio::io::duplex(64);
    client
        .write_all(&[&ask[..], b"\0\x01"].concat())
        .await
        .unwrap();
    let gate = Gate::default();
    let mut stream = framed(server, &gate);
    let mut out = vec![0; ask.len()];
    stream.read_exact(&mut out).await.unwrap();
    assert_eq!(out, ask);
    assert_eq!(gate.arrive(), Ok(1));
    let early = tokio::time::timeout(Duration::from_millis(20), stream.read_u8()).await;
    assert!(
        early.is_err(),
        "a byte of the tunnel came before its answer"
    );
    gate.answer(true);
    assert_eq!(stream.read_u8().await.unwrap(), 0);
    assert_eq!(stream.read_u8().await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_later_head_is_timed_from_its_first_byte() {
    let head = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
    let (mut client, server) = tokio::io::duplex(64);
    client.write_all(head).await.unwrap();
    let mut stream = framed(server, &Gate::default());
    stream.read_exact(&mut vec![0; head.len()]).await.unwrap();
    let silent = tokio::time::timeout(WITHIN * 3, stream.read_u8()).await;
    assert!(
        silent.is_err(),
        "silence between requests is not a slow head"
    );
    client.write_all(b"GET").await.unwrap();
    let begun = tokio::time::Instant::now();
    let read = tokio::time::timeout(WITHIN * 2, stream.read_u8()).await;
    let error = read.expect("given up in time").expect_err("no head came");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(begun.elapsed().as_secs(), WITHIN.as_secs());
}
