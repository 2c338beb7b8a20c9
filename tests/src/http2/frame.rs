//! Frames (RFC 9113, 4.1): nine octets of head, then the payload.

use std::fmt;

use super::hpack::{Field, block, status};

/// The types of frames.
#[allow(missing_docs)]
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// The flags of frames.
#[allow(missing_docs)]
pub mod flag {
    pub const NONE: u8 = 0;
    pub const ACK: u8 = 1;
    pub const END_STREAM: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    pub const PADDED: u8 = 8;
    pub const PRIORITY: u8 = 0x20;
}

/// The error codes.
#[allow(missing_docs)]
pub mod code {
    pub const NO_ERROR: u32 = 0;
    pub const PROTOCOL_ERROR: u32 = 1;
    pub const FLOW_CONTROL_ERROR: u32 = 3;
    pub const STREAM_CLOSED: u32 = 5;
    pub const FRAME_SIZE_ERROR: u32 = 6;
    pub const REFUSED_STREAM: u32 = 7;
    pub const CANCEL: u32 = 8;
    pub const COMPRESSION_ERROR: u32 = 9;
    pub const ENHANCE_YOUR_CALM: u32 = 11;
}

/// A frame as it goes over the wire.
///
/// # Panics
///
/// If the payload has 2^24 octets or more.
#[must_use]
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [most, length @ ..] = u32::try_from(payload.len()).unwrap().to_be_bytes();
    assert_eq!(most, 0, "a length has 24 bits");
    let stream = stream.to_be_bytes();
    [&length[..], &[kind, flags], &stream, payload].concat()
}

/// A request without a body: one HEADERS frame, each field a literal.
#[must_use]
pub fn request(stream: u32, fields: &[Field<'_>]) -> Vec<u8> {
    let flags = flag::END_HEADERS | flag::END_STREAM;
    frame(kind::HEADERS, flags, stream, &block(fields))
}

/// A frame that came.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Frame {
    /// Its type.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its stream; 0 for the connection.
    pub stream: u32,
    /// What follows its head.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Reads the head; the length of the payload stands beside the frame, which is still empty.
    pub(super) fn head(bytes: [u8; 9]) -> (Self, usize) {
        let [a, b, c, kind, flags, stream @ ..] = bytes;
        let length = u32::from_be_bytes([0, a, b, c]);
        let frame = Self {
            kind,
            flags,
            stream: u32::from_be_bytes(stream) & 0x7fff_ffff,
            payload: Vec::new(),
        };
        (frame, usize::try_from(length).unwrap())
    }

    /// Whether all of these flags are set.
    #[must_use]
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// Whether it ends its stream in good order.
    #[must_use]
    pub fn ends_stream(&self) -> bool {
        matches!(self.kind, kind::DATA | kind::HEADERS) && self.has(flag::END_STREAM)
    }

    /// The error code of a RST_STREAM or GOAWAY frame.
    #[must_use]
    pub fn code(&self) -> Option<u32> {
        let at = match self.kind {
            kind::RST_STREAM => 0,
            kind::GOAWAY => 4,
            _ => return None,
        };
        let bytes = self.payload.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    }
}

const KINDS: [&str; 10] = [
    "DATA",
    "HEADERS",
    "PRIORITY",
    "RST_STREAM",
    "SETTINGS",
    "PUSH_PROMISE",
    "PING",
    "GOAWAY",
    "WINDOW_UPDATE",
    "CONTINUATION",
];

const CODES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

fn named(names: &[&str], number: u32) -> String {
    let at = usize::try_from(number).unwrap_or(usize::MAX);
    names
        .get(at)
        .map_or_else(|| number.to_string(), |name| (*name).to_owned())
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&named(&KINDS, self.kind.into()))?;
        if self.stream > 0 {
            write!(f, " on {}", self.stream)?;
        }
        match (self.kind, self.code()) {
            (_, Some(code)) => write!(f, " {}", named(&CODES, code))?,
            (kind::HEADERS, _) => write!(f, " {}", status(&self.payload).unwrap_or_default())?,
            (kind::DATA, _) => write!(f, " of {}", self.payload.len())?,
            (kind::SETTINGS | kind::PING, _) if self.has(flag::ACK) => f.write_str(" ACK")?,
            _ => {}
        }
        if self.ends_stream() {
            f.write_str(" END_STREAM")?;
        }
        Ok(())
    }
}
