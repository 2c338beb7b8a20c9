//! [`Interval`]: where the difference of two rates is, at every look.

use super::mixture::Mixture;
use super::seen::{Seen, Share};

/// Sessions that each group must have before anything is said.
pub const LEAST_SESSIONS: u64 = 50;

/// What a difference must rest on: so many events in the group with the higher rate, and so many
/// sessions without one in the other. A rate of next to nothing is far from normal.
pub const LEAST_EVENTS: u64 = 5;

/// Where the difference canary minus stable is. [`Interval::ANYWHERE`] until both groups have
/// [`LEAST_SESSIONS`]; without [`LEAST_EVENTS`] it never leaves out 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The least difference.
    pub lower: f64,
    /// The greatest difference.
    pub upper: f64,
}

impl Interval {
    /// Nothing is known.
    pub const ANYWHERE: Self = Self {
        lower: -1.0,
        upper: 1.0,
    };

    pub(super) fn of(look: &Look) -> Self {
        Self {
            lower: look.edge(-1.0, |truth| look.is_above(truth)),
            upper: look.edge(1.0, |truth| look.is_below(truth)),
        }
    }

    /// The same of the sessions that had no event.
    pub(super) const fn of_the_rest(self) -> Self {
        Self {
            lower: -self.upper,
            upper: -self.lower,
        }
    }
}

/// One look at two groups that have enough sessions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    canary: Share,
    stable: Share,
    seen: Seen,
    mixture: Mixture,
}

impl Look {
    pub(super) fn at(canary: Share, stable: Share, mixture: Mixture) -> Option<Self> {
        let enough = canary.sessions.min(stable.sessions) >= LEAST_SESSIONS;
        Some(Self {
            canary,
            stable,
            seen: Seen::of(canary, stable).filter(|_| enough)?,
            mixture,
        })
    }

    /// Whether the true difference is above this one.
    pub(super) fn is_above(&self, truth: f64) -> bool {
        let rests = truth < 0.0 || rests(self.canary, self.stable);
        rests && self.seen.difference > truth && self.leaves_out(truth)
    }

    /// Whether the true difference is below this one.
    pub(super) fn is_below(&self, truth: f64) -> bool {
        let rests = truth > 0.0 || rests(self.stable, self.canary);
        rests && self.seen.difference < truth && self.leaves_out(truth)
    }

    fn leaves_out(&self, truth: f64) -> bool {
        let apart = self.seen.difference - truth;
        apart * apart > self.mixture.reach(self.seen.variance(truth))
    }

    /// The first difference that is left out, from the one seen towards `limit`.
    fn edge(&self, limit: f64, is_out: impl Fn(f64) -> bool) -> f64 {
        let (mut inside, mut outside) = (self.seen.difference, limit);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(inside, outside);
            match is_out(middle) {
                true => outside = middle,
                false => inside = middle,
            }
        }
        outside
    }
}

/// Whether a higher rate rests on enough.
const fn rests(higher: Share, lower: Share) -> bool {
    higher.events >= LEAST_EVENTS && lower.the_rest().events >= LEAST_EVENTS
}

/// How often a bound is narrowed down: to less than 1e-15.
const HALVINGS: u32 = 52;
