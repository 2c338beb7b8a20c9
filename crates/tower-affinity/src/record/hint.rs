//! What has become of unsigned hints.

use metrics::Label;
use tower_affinity_core::Hinted;

use super::names;
use super::recorder::Recorder;

/// What has become of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HintOutcome {
    /// Its group served.
    Served,
    /// Its group had no ready endpoint.
    NotReady,
    /// Its group serves nobody, or there is none.
    Gone,
    /// It is no name of a group, or there were two.
    Malformed,
}

impl HintOutcome {
    #[cfg(test)]
    pub(crate) const ALL: [Self; 4] = [Self::Served, Self::NotReady, Self::Gone, Self::Malformed];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Served => "served",
            Self::NotReady => "not_ready",
            Self::Gone => "gone",
            Self::Malformed => "malformed",
        }
    }
}

impl From<Hinted<'_>> for HintOutcome {
    fn from(hinted: Hinted<'_>) -> Self {
        match hinted {
            Hinted::Serves(_) => Self::Served,
            Hinted::NotReady => Self::NotReady,
            Hinted::Gone => Self::Gone,
        }
    }
}

impl Recorder {
    /// A request has named a group, unsigned.
    pub(crate) fn hint(&self, outcome: HintOutcome) {
        let outcome = Label::from_static_parts("outcome", outcome.as_str());
        self.source().count(names::HINTS, vec![outcome], 1);
    }
}
