//! The header as a function of bytes.

use std::net::SocketAddr;

use proxy_protocol_rs::{InvalidReason, ParseError, V2_SIGNATURE, parse as parse_header};
use thiserror::Error;

/// A whole header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The client; `None` if the proxy speaks for itself (`LOCAL`), or does not know (`UNKNOWN`).
    pub(super) client: Option<SocketAddr>,
    /// How many bytes it has.
    pub(super) length: usize,
}

/// Bytes that no header begins with.
#[derive(Debug, Error)]
pub(in super::super) enum BadHeader {
    /// Something else, or a broken header.
    #[error("{0}")]
    Malformed(#[from] ParseError),
    /// It says that it is longer than any that we read.
    #[error("the header has {0} bytes; at most {MAX_LENGTH} are read")]
    TooLong(usize),
}

/// The header that `bytes` begin with; `None` if more have to be read.
///
/// The answer does not depend on how many bytes follow the header.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Header>, BadHeader> {
    let announced = version_2_length(bytes);
    if let Some(length) = announced.filter(|length| *length > MAX_LENGTH) {
        return Err(BadHeader::TooLong(length));
    }
    match (parse_header(bytes), announced) {
        (Ok((info, length)), _) => Ok(Some(Header {
            client: info.source_inet(),
            length,
        })),
        (Err(ParseError::Incomplete), _) => Ok(None),
        // What version 1 calls UNKNOWN: the connection is a client's, but its address is no IP
        // address. The parser tells of it only once the whole header is there.
        (Err(ParseError::Invalid(InvalidReason::UnspecWithProxy)), Some(length)) => {
            Ok(Some(Header {
                client: None,
                length,
            }))
        }
        (Err(error), _) => Err(error.into()),
    }
}

/// How long a header of version 2 says that it is, once that was read.
fn version_2_length(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_prefix(V2_SIGNATURE)?;
    let length = rest.get(2..4)?.try_into().ok().map(u16::from_be_bytes)?;
    Some(V2_FIXED + usize::from(length))
}

const V2_FIXED: usize = 16;
/// Addresses take 216 bytes at most; the rest is for what cloud load balancers add, which is far
/// less, and skipped.
const MAX_LENGTH: usize = 4_096;
