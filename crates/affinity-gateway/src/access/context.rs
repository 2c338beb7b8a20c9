//! W3C Trace Context: which trace a request belongs to.
//!
//! <https://www.w3.org/TR/trace-context/>

use std::fmt::{self, Write};

use http::{HeaderMap, HeaderName, HeaderValue};

const PARENT: HeaderName = HeaderName::from_static("traceparent");
const STATE: HeaderName = HeaderName::from_static("tracestate");

/// Of the flags, the only one that the version that we write has.
const SAMPLED: u8 = 1;

/// A trace, and the span of it that is meant. Neither id is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceContext {
    pub(crate) trace: u128,
    pub(crate) span: u64,
    pub(crate) sampled: bool,
}

impl TraceContext {
    /// A trace that begins here, and that nobody has asked to keep.
    pub(super) fn begin() -> Self {
        Self {
            trace: fastrand::u128(1..),
            span: fastrand::u64(1..),
            sampled: false,
        }
    }

    /// Another span of the same trace.
    pub(super) fn child(self) -> Self {
        Self {
            span: fastrand::u64(1..),
            ..self
        }
    }

    /// That of a request, if it names one and only one.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut parents = headers.get_all(PARENT).iter();
        match (parents.next(), parents.next()) {
            (Some(parent), None) => Self::parse(parent.as_bytes()),
            _ => None,
        }
    }

    /// Makes this the parent of what the endpoint does. `begun` is whether the trace began here: then
    /// the state that a client sent belongs to none.
    pub(super) fn write(self, headers: &mut HeaderMap, begun: bool) {
        if begun {
            headers.remove(STATE);
        }
        if let Ok(value) = HeaderValue::from_str(&self.to_string()) {
            headers.insert(PARENT, value);
        }
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.trim_ascii();
        let mut parts = text.splitn(5, '-');
        let (version, trace) = (parts.next()?, parts.next()?);
        let (span, flags, more) = (parts.next()?, parts.next()?, parts.next());
        let version = u8::try_from(hex(version, 2)?).ok()?;
        // later versions may have more at the end, ours has not
        if version == 0xff || (version == 0 && more.is_some()) {
            return None;
        }
        let (trace, span) = (hex(trace, 32)?, u64::try_from(hex(span, 16)?).ok()?);
        let flags = u8::try_from(hex(flags, 2)?).ok()?;
        (trace != 0 && span != 0).then_some(Self {
            trace,
            span,
            sampled: flags & SAMPLED != 0,
        })
    }
}

/// The form of the header.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.sampled);
        write!(f, "00-{:032x}-{:016x}-{flags:02x}", self.trace, self.span)
    }
}

/// A number of exactly so many digits, in lower case.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let fits = text.len() == digits && text.bytes().all(is_digit);
    fits.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

/// The id of a trace as logs name it.
pub(super) struct TraceId(pub(super) u128);

impl TraceId {
    pub(super) fn text(&self) -> String {
        let mut text = String::with_capacity(32);
        // a String takes everything
        let _full = write!(text, "{:032x}", self.0);
        text
    }
}
