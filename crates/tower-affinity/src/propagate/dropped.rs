//! What is not handed on, because it is too much or not what it has to be.

use std::borrow::Cow;

use http::header::{HeaderMap, HeaderName, HeaderValue};

/// Something of a context that was not handed on, wholly or in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dropped {
    /// The pin, from a header that is none or that there were several of.
    Pin,
    /// The parent of the trace, and its state with it.
    Traceparent,
    /// The state of the trace, or members of it.
    Tracestate,
    /// Members of the baggage, or all of it.
    Baggage,
}

impl Dropped {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Pin,
        Self::Traceparent,
        Self::Tracestate,
        Self::Baggage,
    ];

    /// The word in labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pin => "pin",
            Self::Traceparent => "traceparent",
            Self::Tracestate => "tracestate",
            Self::Baggage => "baggage",
        }
    }
}

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
