//! W3C Baggage, as far as a service has to know it that only hands it on.
//!
//! <https://www.w3.org/TR/baggage/>

use http::header::{HeaderMap, HeaderName};

use super::bounded::{Bounded, joined};

pub(super) const BAGGAGE: HeaderName = HeaderName::from_static("baggage");

/// The most bytes and members that are handed on: so many everybody has to.
const MAX_BYTES: usize = 8_192;
const MAX_MEMBERS: usize = 64;

/// Baggage of this many times the most is not looked at.
const LOOKED_AT: usize = 8;

/// That of a request. Members that are none are left out; where not all have room, those at the
/// right are.
pub(super) fn of(headers: &HeaderMap) -> Bounded {
    if !headers.contains_key(BAGGAGE) {
        return Bounded::absent();
    }
    let Some(all) = joined(headers, &BAGGAGE, MAX_BYTES * LOOKED_AT) else {
        return Bounded::dropped();
    };
    let (mut kept, mut sent, mut len) = (Vec::new(), 0, 0);
    for member in all.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
        if member.is_empty() {
            continue;
        }
        sent += 1;
        if !is_member(member) {
            continue;
        }
        len += member.len() + usize::from(!kept.is_empty());
        if kept.len() == MAX_MEMBERS || len > MAX_BYTES {
            break;
        }
        kept.push(member);
    }
    Bounded::of(&kept, sent)
}

/// `key=value`, and properties after semicolons.
fn is_member(member: &[u8]) -> bool {
    let mut parts = member.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    parts.next().is_some_and(|pair| is_pair(pair, true))
        && parts.all(|property| is_pair(property, false))
}

fn is_pair(pair: &[u8], valued: bool) -> bool {
    match pair.iter().position(|byte| *byte == b'=') {
        None => !valued && is_token(pair),
        Some(at) => {
            let (key, value) = pair.split_at(at);
            let value = value.get(1..).unwrap_or_default();
            is_token(key.trim_ascii()) && is_value(value.trim_ascii())
        }
    }
}

fn is_token(text: &[u8]) -> bool {
    let is_sign = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.iter().all(is_sign)
}

/// Visible ASCII but for `"`, `,`, `;` and `\`, in which each `%` begins two hexadecimal digits.
fn is_value(value: &[u8]) -> bool {
    let mut rest = value.iter();
    while let Some(byte) = rest.next() {
        let fits = match byte {
            b'%' => {
                let mut digit = || rest.next().is_some_and(u8::is_ascii_hexdigit);
                digit() && digit()
            }
            _ => byte.is_ascii_graphic() && !b"\",;\\".contains(byte),
        };
        if !fits {
            return false;
        }
    }
    true
}
