//! The endpoint's side of a tunnel, which can be asked to end.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

use super::frames::Frames;
use crate::write_through::write_through;

/// A close frame of a server with the code 1012, "service restart": clients connect again.
const RESTART: &[u8] = &[0x88, 0x02, 0x03, 0xf4];

/// A stream that ends as soon as it is asked to: at once, or, if it carries a WebSocket, at the end
/// of the present frame and after a close frame of ours.
pub(super) struct Ending<I> {
    inner: I,
    frames: Option<Frames>,
    end: End,
}

enum End {
    /// Boxed once per tunnel, since what waits must not be moved.
    NotYet(Pin<Box<dyn Future<Output = ()> + Send>>),
    Asked,
    /// What is left of our close frame.
    Saying(&'static [u8]),
}

impl<I> Ending<I> {
    pub(super) fn new(inner: I, is_websocket: bool, end: CancellationToken) -> Self {
        Self {
            inner,
            frames: is_websocket.then(Frames::default),
            end: End::NotYet(Box::pin(end.cancelled_owned())),
        }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Ending<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let End::NotYet(end) = &mut this.end
            && end.as_mut().poll(cx).is_ready()
        {
            this.end = End::Asked;
        }
        if let End::Asked = this.end {
            match &this.frames {
                Some(frames) if !frames.at_boundary() => {}
                // the endpoint has said it already, and nothing may follow
                Some(frames) if frames.is_closed() => this.end = End::Saying(&[]),
                Some(_) => this.end = End::Saying(RESTART),
                None => this.end = End::Saying(&[]),
            }
        }
        if let End::Saying(rest) = &mut this.end {
            let (now, later) = rest.split_at(rest.len().min(buf.remaining()));
            buf.put_slice(now);
            *rest = later;
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(cx, buf))?;
        if let Some(frames) = &mut this.frames {
            let read = buf.filled().get(before..).unwrap_or_default();
            match this.end {
                End::Asked => {
                    let whole = frames.pass_frame(read);
                    buf.set_filled(before + whole);
                }
                _ => frames.pass(read),
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Ending<I> {
    write_through!();
}

impl<I: fmt::Debug> fmt::Debug for Ending<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ending")
            .field("inner", &self.inner)
            .field("frames", &self.frames)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    /// What a client gets of an endpoint that sends `before`, is asked to end, and sends `after`.
    async fn got(is_websocket: bool, before: &[u8], after: &[u8]) -> Vec<u8> {
        let (mut endpoint, inner) = duplex(1024);
        let end = CancellationToken::new();
        let mut stream = Ending::new(inner, is_websocket, end.clone());
        let mut got = vec![0; before.len()];
        endpoint.write_all(before).await.unwrap();
        stream.read_exact(&mut got).await.unwrap();
        end.cancel();
        endpoint.write_all(after).await.unwrap();
        stream.read_to_end(&mut got).await.unwrap();
        got
    }

    #[tokio::test]
    async fn a_websocket_ends_between_two_frames_with_1012() {
        let all = b"\x81\x05hello\x81\x03you\x81\x01!";
        for at in 0..all.len() {
            let (before, after) = all.split_at(at);
            let got = got(true, before, after).await;
            let frames = got.strip_suffix(RESTART).unwrap();
            assert!(
                [0, 7, 12, 15].contains(&frames.len())
                    && frames.len() >= at
                    && all.starts_with(frames),
                "asked after {at} bytes, cut after {}",
                frames.len()
            );
        }
    }

    #[tokio::test]
    async fn what_the_endpoint_has_closed_is_not_closed_again() {
        let got = got(true, b"\x88\x02\x03\xe8", b"").await;
        assert_eq!(got, b"\x88\x02\x03\xe8");
    }

    #[tokio::test]
    async fn another_protocol_gets_no_bytes_of_ours() {
        assert_eq!(got(false, b"one.", b"two.").await, b"one.");
    }

    #[tokio::test]
    async fn a_stream_that_waits_is_woken_to_end() {
        let (_endpoint, inner) = duplex(64);
        let end = CancellationToken::new();
        let mut stream = Ending::new(inner, true, end.clone());
        let read = tokio::spawn(async move {
            let mut got = Vec::new();
            stream.read_to_end(&mut got).await.unwrap();
            got
        });
        tokio::task::yield_now().await;
        end.cancel();
        assert_eq!(read.await.unwrap(), RESTART);
    }
}
