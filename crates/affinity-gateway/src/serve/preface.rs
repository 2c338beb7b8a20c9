//! A deadline for the first bytes of a connection.
//!
//! hyper-util reads up to 24 bytes to tell HTTP/2 from HTTP/1.1 and starts no timer meanwhile: a
//! client that sends nothing, or stops inside `PRI * HTTP/2.0`, would hold its connection for
//! ever. Once so much was read that the protocol is known, hyper's own timers take over.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

/// A stream that fails with `TimedOut` if its first bytes take too long.
#[derive(Debug)]
pub(super) struct Preface<I> {
    inner: I,
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    // Boxed once per connection: hyper moves its I/O, a running timer cannot be moved.
    patience: Pin<Box<Sleep>>,
    expected: &'static [u8],
}

impl<I> Preface<I> {
    pub(super) fn new(inner: I, within: Duration) -> Self {
        Self {
            inner,
            waiting: Some(Waiting {
                patience: Box::pin(tokio::time::sleep(within)),
                expected: H2_PREFACE,
            }),
        }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Preface<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        match Pin::new(&mut self.inner).poll_read(cx, buf) {
            Poll::Ready(Ok(())) => {
                let read = buf.filled().get(before..).unwrap_or_default();
                self.waiting = self.waiting.take().and_then(|waiting| waiting.after(read));
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                let Some(waiting) = &mut self.waiting else {
                    return Poll::Pending;
                };
                ready!(waiting.patience.as_mut().poll(cx));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl Waiting {
    /// `None` once the protocol is known: at the first byte that HTTP/2 would not send, or at the
    /// end of its preface.
    fn after(mut self, read: &[u8]) -> Option<Self> {
        self.expected = self.expected.strip_prefix(read)?;
        (!read.is_empty() && !self.expected.is_empty()).then_some(self)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Preface<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

const H2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
