//! [`LiveSketch`]: the sessions that were seen, less those that have ended or moved away.

use super::Sketch;

/// The live sessions of a group: those that were seen within the idle lifetime, less those of them
/// that have ended or moved away since. Both are unions over replicas, so that a session counts once
/// and is gone everywhere as soon as one replica says so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveSketch {
    /// The sessions that were seen.
    pub seen: Sketch,
    /// Those of them that are not there any more.
    pub left: Sketch,
}

impl LiveSketch {
    /// Takes in what another replica knows.
    pub fn merge(&mut self, other: &Self) {
        self.seen.merge(&other.seen);
        self.left.merge(&other.left);
    }

    /// How many sessions are live. The error is that of [`Sketch::count`] as long as no more than half
    /// of those that were seen have left, and grows with their share: where nine in ten have left, it
    /// is about 10 %.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.seen.count_without(&self.left)
    }
}
