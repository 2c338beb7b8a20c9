//! What is not handed on of a request's context.

use metrics::Label;

use super::names;
use super::recorder::Recorder;

/// Something of a context that was not handed on, wholly or in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
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
    #[cfg(test)]
    pub(crate) const ALL: [Self; 4] = [
        Self::Pin,
        Self::Traceparent,
        Self::Tracestate,
        Self::Baggage,
    ];

    /// The word in labels.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Pin => "pin",
            Self::Traceparent => "traceparent",
            Self::Tracestate => "tracestate",
            Self::Baggage => "baggage",
        }
    }
}

impl Recorder {
    /// Something of a request's context did not go on.
    pub(crate) fn not_propagated(&self, what: Dropped) {
        let what = Label::from_static_parts("what", what.as_str());
        self.source().count(names::NOT_PROPAGATED, vec![what], 1);
    }
}
