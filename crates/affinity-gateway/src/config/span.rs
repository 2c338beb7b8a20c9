//! Durations: which a key accepts, and how they are written.

use std::fmt;
use std::time::Duration;

/// The durations that a key accepts.
pub(crate) struct Bounds {
    least: Duration,
    most: Duration,
    whole_seconds: bool,
}

impl Bounds {
    /// Whole seconds, as tokens carry them.
    pub(crate) const fn seconds(least: u64, most: u64) -> Self {
        let (least, most) = (Duration::from_secs(least), Duration::from_secs(most));
        Self {
            least,
            most,
            whole_seconds: true,
        }
    }

    /// Any fraction of a second.
    pub(crate) const fn millis(least: u64, most: u64) -> Self {
        let (least, most) = (Duration::from_millis(least), Duration::from_millis(most));
        Self {
            least,
            most,
            whole_seconds: false,
        }
    }

    pub(crate) fn accept(&self, span: Duration) -> bool {
        (self.least..=self.most).contains(&span)
            && !(self.whole_seconds && span.subsec_nanos() != 0)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.whole_seconds {
            " of whole seconds"
        } else {
            ""
        };
        let (least, most) = (in_words(self.least), in_words(self.most));
        write!(
            f,
            "a duration{unit} such as \"30s\" or \"5m\", from {least} to {most}"
        )
    }
}

/// A duration as the file would write it, in the greatest unit that is exact.
pub(crate) fn in_words(span: Duration) -> String {
    let (secs, nanos) = (span.as_secs(), span.subsec_nanos());
    if nanos % 1_000_000 != 0 {
        return format!("{}ns", span.as_nanos());
    }
    if nanos != 0 {
        return format!("{}ms", span.as_millis());
    }
    let units = [("d", 86_400), ("h", 3_600), ("m", 60)];
    let exact = units
        .iter()
        .find(|(_, unit)| secs != 0 && secs.is_multiple_of(*unit));
    exact.map_or_else(
        || format!("{secs}s"),
        |(name, unit)| format!("{}{name}", secs / unit),
    )
}
