//! Headers that are handed on as far as they are what they have to be, and not too much.

use std::borrow::Cow;

use http::header::{HeaderMap, HeaderName, HeaderValue};

/// A header as it is handed on.
pub(super) struct Bounded {
    pub(super) value: Option<HeaderValue>,
    /// Whether anything was left out.
    pub(super) dropped: bool,
}

impl Bounded {
    pub(super) fn absent() -> Self {
        Self {
            value: None,
            dropped: false,
        }
    }

    pub(super) fn dropped() -> Self {
        Self::whole(None)
    }

    /// One that is handed on as it is or not at all.
    pub(super) fn whole(value: Option<HeaderValue>) -> Self {
        let dropped = value.is_none();
        Self { value, dropped }
    }

    /// These members of a list of `sent`.
    pub(super) fn of(kept: &[&[u8]], sent: usize) -> Self {
        if kept.is_empty() {
            let value = None;
            let dropped = sent > 0;
            return Self { value, dropped };
        }
        let value = HeaderValue::from_bytes(&kept.join(b",".as_slice())).ok();
        let dropped = value.is_none() || kept.len() < sent;
        Self { value, dropped }
    }
}

/// All lines of a header as one list; `None` if they are longer than `most` together.
pub(super) fn joined<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    most: usize,
) -> Option<Cow<'a, [u8]>> {
    let mut lines = headers.get_all(name).iter().map(HeaderValue::as_bytes);
    let Some(first) = lines.next().filter(|first| first.len() <= most) else {
        return (!headers.contains_key(name)).then(|| Cow::Borrowed(&[][..]));
    };
    let mut all = Cow::Borrowed(first);
    for line in lines {
        if all.len() + line.len() >= most {
            return None;
        }
        let all = all.to_mut();
        all.push(b',');
        all.extend_from_slice(line);
    }
    Some(all)
}
