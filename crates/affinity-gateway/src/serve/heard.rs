//! A stream that tells when bytes come.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::activity::Activity;
use crate::write_through::write_through;

/// Notes what is read, so that a connection with half a request is not taken for an idle one.
#[derive(Debug)]
pub(super) struct Heard<I> {
    inner: I,
    activity: Activity,
}

impl<I> Heard<I> {
    pub(super) fn new(inner: I, activity: Activity) -> Self {
        Self { inner, activity }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Heard<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.inner).poll_read(cx, buf);
        if read.is_ready() {
            self.activity.heard();
        }
        read
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Heard<I> {
    write_through!();
}
