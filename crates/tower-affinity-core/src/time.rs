//! Points in time as the rules see them.

use std::fmt;
use std::time::{Duration, SystemTime};

/// A point in time: milliseconds since the Unix epoch.
///
/// Tokens carry whole seconds; the conversions say which way they round. All arithmetic saturates,
/// so that no claim of a token can overflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(u64);

impl Timestamp {
    /// A point in time from milliseconds since the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// A point in time from whole seconds since the Unix epoch.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since the Unix epoch, rounded down.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    /// The same time cut to whole seconds, as a token carries it.
    #[must_use]
    pub const fn whole_secs(self) -> Self {
        Self(self.0 - self.0 % 1000)
    }

    /// This time plus `span`.
    #[must_use]
    pub const fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(millis(span)))
    }

    /// The span from `earlier` to this time; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Timestamp {
    /// The time in UTC to the second (RFC 3339), or the seconds themselves past the year 9999.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_secs() {
            secs @ 0..END_OF_CALENDAR => {
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(secs);
                write!(f, "{}", humantime::format_rfc3339_seconds(time))
            }
            secs => write!(f, "{secs}"),
        }
    }
}

/// The first second of the year 10000, which the formatter cannot write.
const END_OF_CALENDAR: u64 = 253_402_300_800;

const fn millis(span: Duration) -> u64 {
    let millis = span.as_millis();
    if millis > u64::MAX as u128 {
        u64::MAX
    } else {
        millis as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_a_date() {
        for (secs, shown) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_796_003_989, "2026-11-30T01:59:49Z"),
            (END_OF_CALENDAR - 1, "9999-12-31T23:59:59Z"),
            (END_OF_CALENDAR, "253402300800"),
        ] {
            assert_eq!(Timestamp::from_secs(secs).to_string(), shown);
        }
    }
}
