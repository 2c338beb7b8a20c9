//! A connection whose small writes are gathered.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, tcp::OwnedReadHalf},
};

use super::outgoing::Outgoing;

/// A TCP connection that writes as the [module](super) says.
///
/// That a write has ended, or a flush, says that its bytes will be sent with no further call, also if
/// this is dropped, unless the peer takes nothing. That it failed is told to the next one.
#[derive(Debug)]
pub(crate) struct Gathered {
    incoming: OwnedReadHalf,
    outgoing: Arc<Outgoing>,
}

impl Gathered {
    pub(crate) fn new(stream: TcpStream) -> Self {
        let (incoming, outgoing) = stream.into_split();
        Self {
            incoming,
            outgoing: Arc::new(Outgoing::new(outgoing)),
        }
    }
}

impl Drop for Gathered {
    fn drop(&mut self) {
        self.outgoing.leave();
    }
}

impl AsyncRead for Gathered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.incoming).poll_read(cx, out)
    }
}

impl AsyncWrite for Gathered {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.outgoing.poll_write(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.outgoing.poll_write(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.outgoing.poll_shutdown(cx)
    }
}
