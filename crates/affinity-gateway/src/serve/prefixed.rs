//! A stream some of whose first bytes were read already.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::write_through::write_through;

/// Reads `first`, then `inner`; writes to `inner`.
#[derive(Debug)]
pub(super) struct Prefixed<I> {
    first: Bytes,
    inner: I,
}

impl<I> Prefixed<I> {
    pub(super) fn new(first: Bytes, inner: I) -> Self {
        Self { first, inner }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Prefixed<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.first.is_empty() {
            return Pin::new(&mut self.inner).poll_read(cx, buf);
        }
        let count = self.first.len().min(buf.remaining());
        buf.put_slice(self.first.get(..count).unwrap_or_default());
        self.first.advance(count);
        if self.first.is_empty() {
            // gives the memory of the read back
            self.first = Bytes::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Prefixed<I> {
    write_through!();
}
