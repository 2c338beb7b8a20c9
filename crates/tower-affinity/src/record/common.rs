//! What the series of all groups share.

use super::once::Once;
use super::outcomes::Counted;
use super::source::Source;
use super::tally::Steps;

/// What the series of all groups share, so that whoever has one needs nothing else to count.
#[derive(Default)]
pub(super) struct Common {
    pub(super) source: Source,
    pub(super) steps: Steps,
    pub(super) counted: Counted,
    /// Which moves have been counted.
    pub(super) moved: Once,
}
