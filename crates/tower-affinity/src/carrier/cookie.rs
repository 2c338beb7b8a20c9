//! Finds our cookie among others, and takes it out without touching a byte of theirs.
//!
//! No jar: a jar keeps the last of several cookies with one name. One scan of the raw bytes finds
//! the candidates; only these go through the parser.

use bytes::Bytes;
use cookie::Cookie;
use http::header::{COOKIE, Entry, HeaderMap, HeaderValue, SET_COOKIE};
use memchr::memchr;

/// The values of all cookies with one of `names`, in the order in which they were sent.
///
/// Names are compared whole and exactly. `None` for a value that is not text, or that has white
/// space around it, which the parser would overlook: a token has one spelling.
pub(crate) fn candidates<'a>(
    headers: &'a HeaderMap,
    names: &'a [Box<str>],
) -> impl Iterator<Item = Option<&'a [u8]>> {
    headers
        .get_all(COOKIE)
        .iter()
        .flat_map(|line| pairs(line.as_bytes()))
        .filter(|pair| is_ours(pair, names))
        .map(|pair| {
            let pair = std::str::from_utf8(pair).ok()?;
            let value = Cookie::parse(pair).ok()?.value_raw()?;
            let (_, sent) = pair.split_once('=')?;
            (sent == value).then_some(value.as_bytes())
        })
}

/// Removes all cookies with one of `names`; every other byte stays as it is.
pub(crate) fn remove(headers: &mut HeaderMap, names: &[Box<str>]) {
    let Entry::Occupied(mut entry) = headers.entry(COOKIE) else {
        return;
    };
    let ours = |line: &HeaderValue| pairs(line.as_bytes()).any(|pair| is_ours(pair, names));
    if !entry.iter().any(ours) {
        return;
    }
    if entry.iter().nth(1).is_none() {
        match without(entry.get().as_bytes(), names) {
            Some(rest) => drop(entry.insert(rest)),
            None => drop(entry.remove()),
        }
        return;
    }
    let (_, lines) = entry.remove_entry_mult();
    let lines: Vec<HeaderValue> = lines
        .filter_map(|line| {
            if ours(&line) {
                without(line.as_bytes(), names)
            } else {
                Some(line)
            }
        })
        .collect();
    for line in lines {
        headers.append(COOKIE, line);
    }
}

/// Removes each `Set-Cookie` that a browser would send back under one of `names`, and says how many
/// there were.
pub(crate) fn remove_set(headers: &mut HeaderMap, names: &[Box<str>]) -> usize {
    let ours = |line: &HeaderValue| {
        let pair = line.as_bytes().split(|byte| *byte == b';').next();
        named(pair.unwrap_or_default()).is_some_and(|(name, value)| {
            let is = |name: &[u8]| names.iter().any(|ours| ours.as_bytes() == name);
            // without a name the value alone is sent back, and reads like a pair
            is(name) || (name.is_empty() && named(value).is_some_and(|(name, _)| is(name)))
        })
    };
    if !headers.get_all(SET_COOKIE).iter().any(ours) {
        return 0;
    }
    let Entry::Occupied(entry) = headers.entry(SET_COOKIE) else {
        return 0;
    };
    let (_, lines) = entry.remove_entry_mult();
    let (planted, others): (Vec<_>, Vec<_>) = lines.partition(ours);
    for line in others {
        headers.append(SET_COOKIE, line);
    }
    planted.len()
}

/// The name and the value of a pair that is set; a browser trims both.
fn named(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr(b'=', pair)?;
    let (name, value) = pair.split_at_checked(at)?;
    Some((name.trim_ascii(), value.get(1..)?.trim_ascii()))
}

fn pairs(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let pair = match memchr(b';', line).and_then(|end| line.split_at_checked(end)) {
            Some((pair, tail)) => {
                rest = tail.split_first().map(|(_, tail)| tail);
                pair
            }
            None => {
                rest = None;
                line
            }
        };
        Some(pair)
    })
}

fn is_ours(pair: &[u8], names: &[Box<str>]) -> bool {
    let pair = pair.trim_ascii_start();
    names.iter().any(|name| {
        pair.strip_prefix(name.as_bytes())
            .is_some_and(|rest| rest.first() == Some(&b'='))
    })
}

/// The line without our pairs, each taken out with one separator; `None` if nothing is left.
fn without(line: &[u8], names: &[Box<str>]) -> Option<HeaderValue> {
    // exact unless our pair is the first: then no byte is copied again to become a header's value
    let ours = pairs(line).filter(|pair| is_ours(pair, names));
    let taken: usize = ours.map(|pair| pair.len() + 1).sum();
    let mut rest = Vec::with_capacity(line.len().saturating_sub(taken));
    let mut any = false;
    for (nth, pair) in pairs(line).enumerate() {
        if is_ours(pair, names) {
            continue;
        }
        if any {
            rest.push(b';');
        }
        // what follows our cookie at the front brings its leading space along
        let whole = any || nth == 0;
        rest.extend_from_slice(if whole { pair } else { pair.trim_ascii_start() });
        any = true;
    }
    if rest.trim_ascii().is_empty() {
        return None;
    }
    // bytes that were a header value once are one again
    HeaderValue::from_maybe_shared(Bytes::from(rest)).ok()
}

#[cfg(test)]
mod tests;
