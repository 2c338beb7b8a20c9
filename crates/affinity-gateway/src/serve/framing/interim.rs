//! Interim answers (1xx) of endpoints, written ahead of the answer that they announce.
//!
//! hyper's server writes no interim answers but `100 Continue`. So they go round it, at the only
//! moment at which they cannot get into an answer: all that hyper has written is out, and the
//! present request has no answer yet.
//!
//! ```text
//! leaf ── Interim::pass ──> Gate: bytes ahead of answer n
//!                                    │ all before it has gone out, nothing of it is written
//! hyper ── answers ──> Ahead ────────┴─> socket
//! ```

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::gate::Gate;
use crate::serve::{ConnectionEvent, ConnectionRecorder};

/// Passes interim answers to the client of one request on HTTP/1.1; an extension of the request.
/// What is made once for the client is with it.
#[derive(Clone)]
pub(crate) struct Interim {
    way: Arc<Way>,
    /// The request, counted from 1.
    place: u64,
}

/// The way of the interim answers of one connection.
pub(in crate::serve) struct Way {
    gate: Gate,
    recorder: Arc<dyn ConnectionRecorder>,
    /// See [`Interim::address`].
    address: OnceLock<HeaderValue>,
}

impl Way {
    /// `recorder` is told of each of them.
    pub(in crate::serve) fn new(gate: Gate, recorder: Arc<dyn ConnectionRecorder>) -> Self {
        Self {
            gate,
            recorder,
            address: OnceLock::new(),
        }
    }

    pub(in crate::serve) fn gate(&self) -> &Gate {
        &self.gate
    }
}

impl Interim {
    pub(in crate::serve) fn new(way: &Arc<Way>, place: u64) -> Self {
        let way = Arc::clone(way);
        Self { way, place }
    }

    /// The address of the client as endpoints are told it, which `make` makes once for all requests of
    /// its connection.
    pub(crate) fn address(&self, make: impl FnOnce() -> HeaderValue) -> HeaderValue {
        self.way.address.get_or_init(make).clone()
    }

    /// Passes one on with the fields that `headers` makes, unless the answer has begun or there
    /// were too many: of one request 8, or 16 KiB.
    ///
    /// `100 Continue` is none of these: hyper asks for the body.
    pub(crate) fn pass(&self, status: StatusCode, headers: impl FnOnce() -> HeaderMap) {
        if !matches!(status.as_u16(), 102..200) {
            return;
        }
        // the answer may come in between
        let Way { gate, recorder, .. } = &*self.way;
        let passed = gate.takes_ahead(self.place)
            && block(status, &headers()).is_some_and(|block| gate.put_ahead(self.place, &block));
        if !passed {
            tracing::debug!(%status, "an interim answer is not passed on");
        }
        recorder.record(ConnectionEvent::Interim { passed });
    }
}

impl fmt::Debug for Interim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interim")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// The bytes of an interim answer; `None` if they could be read as more than one.
fn block(status: StatusCode, headers: &HeaderMap) -> Option<Vec<u8>> {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut block = format!("HTTP/1.1 {} {reason}\r\n", status.as_str()).into_bytes();
    for (name, value) in headers {
        let value = value.as_bytes();
        if value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return None;
        }
        block.extend_from_slice(name.as_str().as_bytes());
        block.extend_from_slice(b": ");
        block.extend_from_slice(value);
        block.extend_from_slice(b"\r\n");
    }
    block.extend_from_slice(b"\r\n");
    Some(block)
}

/// A stream on which interim answers go out ahead of their answer.
#[derive(Debug)]
pub(in crate::serve) struct Ahead<I> {
    inner: I,
    gate: Gate,
    /// What has begun to go out.
    begun: Bytes,
}

impl<I> Ahead<I> {
    pub(in crate::serve) fn new(inner: I, gate: Gate) -> Self {
        Self {
            inner,
            gate,
            begun: Bytes::new(),
        }
    }
}

impl<I: AsyncWrite + Unpin> Ahead<I> {
    /// Writes what has begun to go out, all of it: nothing may get into it.
    fn poll_begun(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.begun.is_empty() {
            let written = ready!(Pin::new(&mut self.inner).poll_write(cx, &self.begun))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.begun.advance(written);
        }
        Poll::Ready(Ok(()))
    }

    /// Writes what goes ahead of what hyper writes next.
    fn poll_ahead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.begun.is_empty()
            && let Some(ahead) = self.gate.take_ahead()
        {
            self.begun = ahead;
        }
        self.poll_begun(cx)
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Ahead<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Ahead<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_ahead(cx))?;
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_ahead(cx))?;
        Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    /// hyper flushes once all of its own has been written, and at the end of each of its turns.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.gate.clear(cx);
        ready!(self.poll_ahead(cx))?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_begun(cx))?;
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
