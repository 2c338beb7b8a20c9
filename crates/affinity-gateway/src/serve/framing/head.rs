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
    if has_bare_lf(bytes.get(..length).unwrap_or_default()) {
        return Err(Fault::BareLf);
    }
    Ok(Some(Head {
        length,
        body: body(&request)?,
        switches: named(&request, "upgrade").next().is_some() || request.method == Some("CONNECT"),
    }))
}

/// RFC 9112, section 6.3, without its leniency: what a server may repair is refused.
fn body(request: &Request<'_, '_>) -> Result<Body, Fault> {
    let mut lengths = named(request, "content-length");
    let mut codings = named(request, "transfer-encoding");
    match (lengths.next(), codings.next()) {
        (None, None) => Ok(Body::Length(0)),
        (Some(_), Some(_)) => Err(Fault::Length),
        (Some(value), None) if lengths.next().is_none() => {
            number(value).map(Body::Length).ok_or(Fault::Length)
        }
        (Some(_), None) => Err(Fault::Length),
        (None, Some(_)) if codings.next().is_some() || request.version != Some(1) => {
            Err(Fault::Coding)
        }
        (None, Some(value)) if value.eq_ignore_ascii_case(b"chunked") => Ok(Body::Chunks),
        (None, Some(_)) => Err(Fault::UnknownCoding),
    }
}

fn named<'r>(request: &'r Request<'_, '_>, name: &'r str) -> impl Iterator<Item = &'r [u8]> {
    let fields = request.headers.iter();
    fields
        .filter(move |field| field.name.eq_ignore_ascii_case(name))
        .map(|field| field.value)
}

/// Digits and nothing else: no sign, no list of equal lengths.
fn number(value: &[u8]) -> Option<u64> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let text = digits.then(|| str::from_utf8(value).ok()).flatten()?;
    text.parse().ok()
}

fn has_bare_lf(head: &[u8]) -> bool {
    let mut before = None;
    for at in memchr::memchr_iter(b'\n', head) {
        before = at.checked_sub(1).and_then(|at| head.get(at));
        if before != Some(&b'\r') {
            return true;
        }
    }
    before.is_none()
}

/// So many fields fit on the stack.
const FEW: usize = 128;
