//! [`Verdict`]: what a look says of a canary.

use super::interval::Look;

/// What is known of a canary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is better.
    Better,
    /// It is not worse by the smallest effect that matters.
    NoWorse,
    /// It is worse.
    Worse,
    /// Too few sessions were seen to tell.
    NotEnoughYet,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Better, Self::NoWorse, Self::Worse, Self::NotEnoughYet];

    /// The verdict on a rate of which less is better: where 0 and `min_effect` lie from the
    /// interval.
    ///
    /// A canary that is surely worse, and as surely by less than `min_effect`, is no worse.
    pub(super) fn of(look: &Look, min_effect: f64) -> Self {
        if look.is_below(0.0) {
            Self::Better
        } else if look.is_below(min_effect) {
            Self::NoWorse
        } else if look.is_above(0.0) {
            Self::Worse
        } else {
            Self::NotEnoughYet
        }
    }

    /// The verdict on two measures: worse if one is, else undecided if one is.
    ///
    /// Better only if one is better and the other no worse.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Worse, _) | (_, Self::Worse) => Self::Worse,
            (Self::NotEnoughYet, _) | (_, Self::NotEnoughYet) => Self::NotEnoughYet,
            (Self::Better, _) | (_, Self::Better) => Self::Better,
            (Self::NoWorse, Self::NoWorse) => Self::NoWorse,
        }
    }

    /// Its name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::NoWorse => "no_worse",
            Self::Worse => "worse",
            Self::NotEnoughYet => "not_enough_yet",
        }
    }

    /// Whether the canary can go on: it is better or no worse.
    #[must_use]
    pub const fn passes(self) -> bool {
        matches!(self, Self::Better | Self::NoWorse)
    }
}
