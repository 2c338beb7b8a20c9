//! [`Outcomes`]: what became of a session so far.

use std::fmt;

/// What became of a session so far: a set of flags, by default none. Its pin carries them, so that
/// each counts once, whichever replica serves its next request.
///
/// Flags that a later release has set are kept.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Outcomes(u16);

impl Outcomes {
    /// An answer was an error of the server, or the application said that the flow has failed.
    pub const FAILED: Self = Self(1);
    /// The application said that the flow has succeeded.
    pub const COMPLETED: Self = Self(2);
    /// An answer's head took longer than is accepted.
    pub const SLOW: Self = Self(4);

    /// The flags that this release sets.
    pub const ALL: [Self; 3] = [Self::FAILED, Self::COMPLETED, Self::SLOW];

    /// The set that a pin carries as `bits`.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The set as a pin carries it; 0 is none.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether no flag is set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all flags of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These flags and those of `other`.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The flags of this set that `other` does not have.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Debug for Outcomes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut set = f.debug_set();
        for (flag, name) in Self::ALL.into_iter().zip(["failed", "completed", "slow"]) {
            if self.contains(flag) {
                set.entry(&name);
            }
        }
        let later = Self::ALL.into_iter().fold(*self, Self::without);
        if !later.is_empty() {
            set.entry(&later.0);
        }
        set.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Outcomes;

    #[test]
    fn flags_of_a_later_release_stay() {
        let held = Outcomes::from_bits(0x4002).and(Outcomes::FAILED);
        assert_eq!(held.bits(), 0x4003);
        assert!(held.contains(Outcomes::COMPLETED) && !held.contains(Outcomes::SLOW));
        assert_eq!(
            held.without(Outcomes::COMPLETED).bits(),
            0x4001,
            "only what the other has goes"
        );
        assert_eq!(format!("{held:?}"), r#"{"failed", "completed", 16384}"#);
    }
}
