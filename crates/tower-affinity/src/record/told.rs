//! What requests say of affinity that does not count.

use metrics::Label;
use tower_affinity_core::NotTold;

use super::names;
use super::recorder::Recorder;

/// Why what a request says of affinity does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToldRejected {
    /// It is not from a peer that is trusted.
    Untrusted,
    /// It has not the form of what a gateway says.
    Malformed,
    /// Something is said more than once.
    Duplicates,
    /// It does not go together.
    Contradictory,
    /// There is no good pin of the session that is named.
    Pin,
}

impl ToldRejected {
    /// All of them, for closed label sets.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 5] = [
        Self::Untrusted,
        Self::Malformed,
        Self::Duplicates,
        Self::Contradictory,
        Self::Pin,
    ];

    /// The word in labels and logs.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Malformed => "malformed",
            Self::Duplicates => "duplicates",
            Self::Contradictory => "contradictory",
            Self::Pin => "pin",
        }
    }
}

impl From<NotTold> for ToldRejected {
    fn from(error: NotTold) -> Self {
        match error {
            NotTold::Malformed => Self::Malformed,
            NotTold::Contradictory => Self::Contradictory,
        }
    }
}

impl Recorder {
    /// What a request says of affinity does not count.
    pub(crate) fn told_rejected(&self, why: ToldRejected) {
        let cause = Label::from_static_parts("cause", why.as_str());
        self.source().count(names::TOLD_REJECTED, vec![cause], 1);
    }
}
