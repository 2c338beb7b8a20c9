//! Why the headers of a request are nobody's.

use tower_affinity_core::NotTold;

/// Why what a request says of affinity does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
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

impl Rejected {
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

impl From<NotTold> for Rejected {
    fn from(error: NotTold) -> Self {
        match error {
            NotTold::Malformed => Self::Malformed,
            NotTold::Contradictory => Self::Contradictory,
        }
    }
}
