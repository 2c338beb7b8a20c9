//! The PROXY protocol, versions 1 and 2: a proxy says who its client is before anything else.

mod header;

#[cfg(test)]
mod tests;

use std::{io, net::SocketAddr};

use bytes::{Buf, Bytes, BytesMut};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};

pub(super) use self::header::BadHeader;

/// Why a connection has no header.
#[derive(Debug, Error)]
pub(super) enum HeaderError {
    /// It closed without a byte, as checks of its health do.
    #[error("the proxy sent nothing")]
    Silent,
    /// It closed within the header.
    #[error("the header breaks off")]
    Cut,
    /// Its first bytes are another thing.
    #[error(transparent)]
    Bad(#[from] BadHeader),
    /// It cannot be read.
    #[error("the header cannot be read")]
    Read(#[from] io::Error),
}

/// Reads the header from the beginning of `stream`: the client that it names, if it names one, and
/// the bytes after it that were read already.
///
/// At most 4,159 bytes are held. Not cancel safe: what was read is lost.
pub(super) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
) -> Result<(Option<SocketAddr>, Bytes), HeaderError> {
    let mut bytes = BytesMut::with_capacity(USUAL);
    loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(if bytes.is_empty() {
                HeaderError::Silent
            } else {
                HeaderError::Cut
            });
        }
        if let Some(header) = header::parse(&bytes)? {
            bytes.advance(header.length);
            return Ok((header.client, bytes.freeze()));
        }
    }
}

/// The specification lets senders count on 536 bytes in one piece.
const USUAL: usize = 536;
