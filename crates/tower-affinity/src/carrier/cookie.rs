//! Finds our cookie among others, and takes it out without touching a byte of theirs.
//!
//! No jar: a jar keeps the last of several cookies with one name. One look at the raw bytes finds the
//! candidates and where they stand; a test holds it against the parser of the crate `cookie`.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use http::header::{COOKIE, Entry, GetAll, HeaderMap, HeaderValue, SET_COOKIE};
use memchr::memchr;
use memchr::memmem::Finder;

/// How many cookies of ours are held without an allocation: a pin and an override.
const FEW: usize = 2;

/// Names of cookies, and what finds where one of them may stand.
#[derive(Clone, Debug)]
pub(crate) struct Names<'n> {
    all: Cow<'n, [Box<str>]>,
    /// Finds what all of them begin with: a browser sends many cookies of others, and to go from one
    /// to the next takes longer than to look for that.
    start: Finder<'n>,
}

impl<'n> Names<'n> {
    pub(crate) fn new(all: &'n [Box<str>]) -> Self {
        Self {
            start: Finder::new(common_start(all)),
            all: Cow::Borrowed(all),
        }
    }

    /// How many they are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// The same for as long as anybody likes.
    pub(crate) fn into_owned(self) -> Names<'static> {
        Names {
            all: Cow::Owned(self.all.into_owned()),
            start: self.start.into_owned(),
        }
    }

    /// Where pairs with these names begin in a line: with the white space in front, and without it.
    fn places(&self, line: &[u8]) -> impl Iterator<Item = (usize, usize)> {
        self.start.find_iter(line).filter_map(|at| {
            // Names that begin with nothing in common stand anywhere; white space is gone over once,
            // by what comes behind it, however much of it there is.
            if line.get(at)?.is_ascii_whitespace() {
                return None;
            }
            let before = line.get(..at)?.trim_ascii_end();
            let is_first = before.is_empty();
            (is_first || before.ends_with(b";")).then_some((before.len(), at))
        })
    }

    /// Which of the names a pair has, and its value.
    fn of<'a>(&self, pair: &'a [u8]) -> Option<(usize, &'a [u8])> {
        let mut names = self.all.iter().enumerate();
        names.find_map(|(nth, name)| {
            let value = pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
            Some((nth, value))
        })
    }
}

/// What all of some names begin with.
fn common_start(names: &[Box<str>]) -> &[u8] {
    let (first, others) = names
        .split_first()
        .map_or((&[][..], names), |(first, others)| {
            (first.as_bytes(), others)
        });
    others.iter().fold(first, |start, name| {
        let same = start.iter().zip(name.as_bytes());
        let len = same.take_while(|(one, other)| one == other).count();
        start.get(..len).unwrap_or_default()
    })
}

/// Our cookies among those of a request, in the order in which they were sent.
#[derive(Debug, Default)]
pub(crate) struct Found<'a> {
    /// The lines that they stand in; `None` if none was looked at.
    lines: Option<GetAll<'a, HeaderValue>>,
    first: [Place<'a>; FEW],
    len: usize,
    more: Vec<Place<'a>>,
}

/// Where one of our cookies stands.
#[derive(Clone, Copy, Debug, Default)]
struct Place<'a> {
    /// Which of the names it has.
    name: usize,
    /// Which line it is in.
    nth: usize,
    /// The pair, with the white space in front of it.
    start: usize,
    end: usize,
    value: &'a [u8],
}

/// What is left of the lines of a request without our cookies.
#[derive(Debug)]
pub(crate) enum Rest {
    /// There is none of ours.
    All,
    /// There is one line, of which this is left.
    Line(Option<HeaderValue>),
    /// There were several.
    Lines(Vec<HeaderValue>),
}

/// Finds all cookies with one of `names`, which are compared whole and exactly.
pub(crate) fn find<'a>(headers: &'a HeaderMap, names: &Names<'_>) -> Found<'a> {
    let lines = headers.get_all(COOKIE);
    let mut found = Found::default();
    for (nth, line) in lines.iter().enumerate() {
        let line = line.as_bytes();
        for (start, at) in names.places(line) {
            let rest = line.get(at..).unwrap_or_default();
            let len = memchr(b';', rest).unwrap_or(rest.len());
            if let Some((name, value)) = rest.get(..len).and_then(|pair| names.of(pair)) {
                found.push(Place {
                    name,
                    nth,
                    start,
                    end: at + len,
                    value,
                });
            }
        }
    }
    found.lines = Some(lines);
    found
}

impl<'a> Found<'a> {
    fn push(&mut self, place: Place<'a>) {
        match self.first.get_mut(self.len) {
            Some(free) => *free = place,
            None => self.more.push(place),
        }
        self.len += 1;
    }

    fn places(&self) -> impl Iterator<Item = &Place<'a>> {
        self.first.iter().take(self.len).chain(&self.more)
    }

    /// Whether there is one with a name that `is` meant.
    pub(crate) fn has(&self, is: impl Fn(usize) -> bool) -> bool {
        self.places().any(|place| is(place.name))
    }

    /// The values of those with a name that `is` meant, by its place among the names. `None` for a
    /// value that is not text, or that has white space around it: a token has one spelling.
    pub(crate) fn values(
        &self,
        is: impl Fn(usize) -> bool,
    ) -> impl Iterator<Item = Option<&'a [u8]>> {
        let meant = self.places().filter(move |place| is(place.name));
        meant.map(|place| spelled(place.value))
    }

    /// What is left without them.
    pub(crate) fn rest(&self) -> Rest {
        let Some(lines) = self.lines.as_ref().filter(|_| self.len > 0) else {
            return Rest::All;
        };
        let lines = lines.iter().enumerate();
        let mut rest = lines.map(|(nth, line)| match self.of_line(nth).next() {
            Some(_) => self.without(nth, line.as_bytes()),
            None => Some(line.clone()),
        });
        let first = rest.next().flatten();
        let Some(second) = rest.next() else {
            return Rest::Line(first);
        };
        Rest::Lines(
            first
                .into_iter()
                .chain(second)
                .chain(rest.flatten())
                .collect(),
        )
    }

    fn of_line(&self, nth: usize) -> impl Iterator<Item = &Place<'a>> {
        self.places().filter(move |place| place.nth == nth)
    }

    /// A line without our pairs, each taken out with one separator; `None` if nothing is left.
    fn without(&self, nth: usize, line: &[u8]) -> Option<HeaderValue> {
        // exact unless our pair is the first: then no byte is copied again to become a header's value
        let taken = self.of_line(nth).map(|place| place.end - place.start + 1);
        let mut rest = Vec::with_capacity(line.len().saturating_sub(taken.sum()));
        let mut from = 0;
        // what stands in front of our first pair was there even if it is empty
        let mut any = self
            .of_line(nth)
            .next()
            .is_some_and(|place| place.start > 0);
        for place in self.of_line(nth) {
            keep(
                &mut rest,
                &mut any,
                from..place.start.saturating_sub(1),
                line,
            );
            from = place.end;
        }
        keep(&mut rest, &mut any, from..line.len(), line);
        if rest.trim_ascii().is_empty() {
            return None;
        }
        // bytes that were a header value once are one again
        HeaderValue::from_maybe_shared(Bytes::from(rest)).ok()
    }
}

impl Rest {
    /// Leaves the rest to the application.
    pub(crate) fn leave(self, headers: &mut HeaderMap) {
        let lines = match self {
            Self::All => return,
            Self::Line(Some(rest)) => {
                if let Some(line) = headers.get_mut(COOKIE) {
                    *line = rest;
                }
                return;
            }
            Self::Line(None) => Vec::new(),
            Self::Lines(lines) => lines,
        };
        headers.remove(COOKIE);
        for line in lines {
            headers.append(COOKIE, line);
        }
    }
}

/// The values of all cookies with one of `names`, as [`Found::values`].
pub(crate) fn candidates<'a>(
    headers: &'a HeaderMap,
    names: &Names<'_>,
) -> impl Iterator<Item = Option<&'a [u8]>> {
    let found = find(headers, names);
    let values: Vec<_> = found.values(|_| true).collect();
    values.into_iter()
}

/// Removes each `Set-Cookie` that a browser would send back under one of `names`, and says how many
/// there were.
pub(crate) fn remove_set(headers: &mut HeaderMap, names: &Names<'_>) -> usize {
    let ours = |line: &HeaderValue| {
        let pair = line.as_bytes().split(|byte| *byte == b';').next();
        named(pair.unwrap_or_default()).is_some_and(|(name, value)| {
            let is = |name: &[u8]| names.all.iter().any(|ours| ours.as_bytes() == name);
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

fn spelled(value: &[u8]) -> Option<&[u8]> {
    let is_padded = match value.is_ascii() {
        true => [value.first(), value.last()]
            .into_iter()
            .flatten()
            .any(u8::is_ascii_whitespace),
        false => {
            let text = std::str::from_utf8(value).ok()?;
            text.trim() != text
        }
    };
    (!is_padded).then_some(value)
}

/// Keeps what is between two of our pairs. It begins with the separator that follows the first of
/// them, which goes if nothing was kept before.
fn keep(rest: &mut Vec<u8>, any: &mut bool, gap: Range<usize>, line: &[u8]) {
    let gap = line.get(gap).unwrap_or_default();
    match gap.strip_prefix(b";").filter(|_| !*any) {
        // what follows our cookie at the front brings its leading space along
        Some(pairs) => rest.extend_from_slice(pairs.trim_ascii_start()),
        None => rest.extend_from_slice(gap),
    }
    *any |= !gap.is_empty();
}

#[cfg(test)]
mod tests;
