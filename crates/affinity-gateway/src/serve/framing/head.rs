//! One head: where it ends, and which body follows.

use std::mem::MaybeUninit;
use std::time::Duration;

use httparse::{Header, Request, Status};

use super::fault::Fault;

/// A whole head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Its bytes, the empty line included.
    pub(super) length: usize,
    pub(super) body: Body,
    /// Whether what follows may be another protocol: only the answer tells.
    pub(super) switches: bool,
}

/// What follows a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// So many bytes.
    Length(u64),
    /// Chunks and trailers.
    Chunks,
}

/// What heads may be.
#[derive(Clone, Copy, Debug)]
pub(in crate::serve) struct Heads {
    /// How long the first one may take.
    pub(in crate::serve) within: Duration,
    pub(in crate::serve) bytes: usize,
    pub(in crate::serve) fields: usize,
    /// Whether a connection may turn out to be HTTP/2.
    pub(in crate::serve) http2: bool,
}

/// Reads the head at the beginning of `bytes`; `None` while its end has not come.
///
/// One empty line before it is skipped (RFC 9112, section 2.2).
pub(super) fn read(bytes: &[u8], limits: Heads) -> Result<Option<Head>, Fault> {
    match bytes.strip_prefix(b"\r\n").unwrap_or(bytes) {
        // httparse skips any number of them, so all would be read again with each that comes
        [b'\n', ..] => return Err(Fault::BareLf),
        [b'\r', b'\n', ..] => return Err(Fault::Malformed),
        _ => {}
    }
    let read = if limits.fields <= FEW {
        read_into(bytes, &mut [const { MaybeUninit::uninit() }; FEW], limits)
    } else {
        read_into(
            bytes,
            &mut vec![MaybeUninit::uninit(); limits.fields],
            limits,
        )
    }?;
    match read {
        Some(head) if head.length > limits.bytes => Err(Fault::TooLarge),
        None if bytes.len() >= limits.bytes => Err(Fault::TooLarge),
        read => Ok(read),
    }
}

fn read_into<'b>(
    bytes: &'b [u8],
    room: &mut [MaybeUninit<Header<'b>>],
    limits: Heads,
) -> Result<Option<Head>, Fault> {
    let room = room.get_mut(..limits.fields).unwrap_or_default();
    let mut request = Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(bytes, room) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Fault::TooLarge),
        Err(_) => return Err(Fault::Malformed),
    };
    let head = bytes.get(..length).unwrap_or_default();
    // httparse ends lines at a bare LF as well: they end where a field begins, and with the head
    let mut is_strict = head.ends_with(b"\r\n\r\n");
    let mut told = Told::default();
    for field in request.headers.iter() {
        is_strict &= follows_crlf(head, field.name);
        told.take(field);
    }
    if !is_strict {
        return Err(Fault::BareLf);
    }
    Ok(Some(Head {
        length,
        body: told.body(request.version)?,
        switches: told.switches || request.method == Some("CONNECT"),
    }))
}

/// What the fields of a head say of what follows it.
#[derive(Debug, Default)]
struct Told<'b> {
    /// How many lengths there are, and the last one.
    lengths: usize,
    length: &'b [u8],
    /// How many codings, and the last one.
    codings: usize,
    coding: &'b [u8],
    switches: bool,
}

impl<'b> Told<'b> {
    fn take(&mut self, field: &Header<'b>) {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        // hardly any other field has a name of such a length
        match field.name.len() {
            14 if is("content-length") => {
                self.lengths += 1;
                self.length = field.value;
            }
            17 if is("transfer-encoding") => {
                self.codings += 1;
                self.coding = field.value;
            }
            7 => self.switches |= is("upgrade"),
            _ => {}
        }
    }

    /// RFC 9112, section 6.3, without its leniency: what a server may repair is refused.
    fn body(&self, version: Option<u8>) -> Result<Body, Fault> {
        match (self.lengths, self.codings) {
            (0, 0) => Ok(Body::Length(0)),
            (1, 0) => number(self.length).map(Body::Length).ok_or(Fault::Length),
            (1.., _) => Err(Fault::Length),
            (0, 2..) => Err(Fault::Coding),
            (0, _) if version != Some(1) => Err(Fault::Coding),
            (0, _) if self.coding.eq_ignore_ascii_case(b"chunked") => Ok(Body::Chunks),
            (0, _) => Err(Fault::UnknownCoding),
        }
    }
}

/// Digits and nothing else: no sign, no list of equal lengths.
fn number(value: &[u8]) -> Option<u64> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let text = digits.then(|| str::from_utf8(value).ok()).flatten()?;
    text.parse().ok()
}

/// Whether `part` of a head begins behind CR LF.
fn follows_crlf(head: &[u8], part: &str) -> bool {
    let at = part.as_ptr().addr().wrapping_sub(head.as_ptr().addr());
    head.get(..at)
        .is_some_and(|before| before.ends_with(b"\r\n"))
}

/// So many fields fit on the stack.
const FEW: usize = 128;
