//! One type for all streams that HTTP is spoken on.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use super::prefixed::Prefixed;
use crate::gather::Gathered;

/// A connection whose next byte is HTTP's.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(Prefixed<Gathered>),
    // Boxed: plain connections do not carry the room of a TLS session.
    Tls(Box<TlsStream<Prefixed<Gathered>>>),
}

/// Calls the method of the variant that is there.
macro_rules! on {
    ($stream:expr, $method:ident($($argument:expr),*)) => {
        match $stream {
            Stream::Plain(plain) => Pin::new(plain).$method($($argument),*),
            Stream::Tls(tls) => Pin::new(tls.as_mut()).$method($($argument),*),
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on!(self.get_mut(), poll_read(cx, buf))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        on!(self.get_mut(), poll_write(cx, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        on!(self.get_mut(), poll_write_vectored(cx, slices))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(plain) => plain.is_write_vectored(),
            Self::Tls(tls) => tls.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self.get_mut(), poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self.get_mut(), poll_shutdown(cx))
    }
}
