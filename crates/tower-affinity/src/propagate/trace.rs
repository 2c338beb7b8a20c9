//! W3C Trace Context, as far as a service has to know it that only hands it on.
//!
//! <https://www.w3.org/TR/trace-context/>

use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::bounded::{Bounded, joined};

pub(super) const PARENT: HeaderName = HeaderName::from_static("traceparent");
pub(super) const STATE: HeaderName = HeaderName::from_static("tracestate");

/// The length of what we hand on: version, trace, parent and flags of version 00.
const PARENT_LEN: usize = 55;

/// The most bytes of a state that are handed on: so many everybody has to.
const MAX_STATE: usize = 512;

/// The most members of a state; one with more is none.
const MAX_MEMBERS: usize = 32;

/// A member that is longer goes first where not all have room.
const LONG_MEMBER: usize = 128;

/// That of a request, if it names one and only one; another is dropped.
pub(super) fn parent(headers: &HeaderMap) -> Bounded {
    let mut values = headers.get_all(PARENT).iter();
    match (values.next(), values.next()) {
        (None, _) => Bounded::absent(),
        (Some(value), None) => Bounded::whole(parsed(value)),
        (Some(_), Some(_)) => Bounded::dropped(),
    }
}

/// What the systems on the way have added to the trace. It says nothing without a parent.
pub(super) fn state(headers: &HeaderMap) -> Bounded {
    let Some(all) = joined(headers, &STATE, MAX_STATE * MAX_MEMBERS) else {
        return Bounded::dropped();
    };
    let members: Vec<&[u8]> = all
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|member| !member.is_empty())
        .collect();
    if members.is_empty() {
        return Bounded::absent();
    }
    if members.len() > MAX_MEMBERS || !members.iter().all(|member| is_member(member)) {
        return Bounded::dropped();
    }
    let sent = members.len();
    let mut kept = members;
    if len(&kept) > MAX_STATE {
        kept.retain(|member| member.len() <= LONG_MEMBER);
    }
    // the newest is at the left
    while len(&kept) > MAX_STATE {
        kept.pop();
    }
    Bounded::of(&kept, sent)
}

fn len(members: &[&[u8]]) -> usize {
    let commas = members.len().saturating_sub(1);
    members.iter().map(|member| member.len()).sum::<usize>() + commas
}

/// The value in the form of version 00. Later versions may have more at the end, which is not
/// handed on, since nobody here knows what it means.
fn parsed(value: &HeaderValue) -> Option<HeaderValue> {
    let text = value.as_bytes();
    let (known, more) = text.split_at_checked(PARENT_LEN)?;
    let known = std::str::from_utf8(known).ok()?;
    let mut parts = known.split('-');
    let (version, trace) = (hex(parts.next()?, 2)?, hex(parts.next()?, 32)?);
    let (parent, flags) = (hex(parts.next()?, 16)?, hex(parts.next()?, 2)?);
    let is_over = parts.next().is_none();
    let ends = match version {
        "00" => more.is_empty(),
        "ff" => false,
        _ => more.is_empty() || more.starts_with(b"-"),
    };
    let is_zero = |digits: &str| digits.bytes().all(|digit| digit == b'0');
    if !is_over || !ends || is_zero(trace) || is_zero(parent) {
        return None;
    }
    if version == "00" {
        return Some(value.clone());
    }
    let sampled = u8::from_str_radix(flags, 16).ok()? & 1;
    HeaderValue::from_str(&format!("00-{trace}-{parent}-{sampled:02x}")).ok()
}

/// So many digits in lower case.
fn hex(text: &str, digits: usize) -> Option<&str> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == digits && text.bytes().all(is_digit)).then_some(text)
}

/// A key and a value of the characters that they may have.
fn is_member(member: &[u8]) -> bool {
    let Some(at) = member.iter().position(|byte| *byte == b'=') else {
        return false;
    };
    let (key, value) = member.split_at(at);
    let in_key =
        |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/@".contains(byte);
    let in_value = |byte: &u8| (b' '..=b'~').contains(byte) && *byte != b'=';
    let value = value.get(1..).unwrap_or_default();
    (1..=256).contains(&key.len())
        && key.iter().all(in_key)
        && (1..=256).contains(&value.len())
        && value.iter().all(in_value)
}
