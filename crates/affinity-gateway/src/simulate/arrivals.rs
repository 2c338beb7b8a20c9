//! When sessions begin.

use std::time::Duration;

use tower_affinity::core::Timestamp;

use super::dice::Dice;
use super::play::EPOCH;

/// The beginnings of all sessions, one after another: a Poisson process.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    dice: Dice,
    /// Milliseconds between two, in the mean.
    gap: f64,
    /// Milliseconds from [`EPOCH`] to the next one.
    next: f64,
}

impl Arrivals {
    pub(super) fn new(per_second: f64, dice: Dice) -> Self {
        let mut arrivals = Self {
            dice,
            gap: 1000.0 / per_second,
            next: 0.0,
        };
        arrivals.wait();
        arrivals
    }

    /// The next one that begins before `until`, with its own chance.
    pub(super) fn before(&mut self, until: Timestamp) -> Option<(Timestamp, Dice)> {
        let begun = EPOCH.plus(Duration::from_millis(self.next as u64));
        if begun >= until {
            return None;
        }
        self.wait();
        Some((begun, Dice::new(self.dice.next())))
    }

    fn wait(&mut self) {
        self.next += self.gap * self.dice.exponential();
    }
}
