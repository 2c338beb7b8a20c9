//! Whether a canary is better or worse than the stable group, judged by sessions and looked at as
//! often as one likes.
//!
//! Pinned sessions stay where they began, so the requests of two groups come from two populations:
//! the stable group keeps all those who were there before. Only sessions that were dealt by the
//! same draw since the step can be compared; a [`Tally`] counts them, [`compare`] judges two.
//!
//! # The method
//!
//! For each measure [`Interval`] is a *confidence sequence* for the difference of the two rates:
//! with the chance `1 − alpha` it holds the true difference at every look, however many looks there
//! are and whatever is done on their ground. So a [`Verdict`] may be read after each session, and a
//! pipeline may stop at the first one that it likes; a fixed-sample test that is looked at again and
//! again calls an equal canary different in far more than `alpha` of all rollouts.
//!
//! A difference `D` is left out of the interval when
//!
//! ```text
//! (d − D)² > V · (V + τ²)/τ² · ln((1 + τ²/V) / alpha²)
//! ```
//!
//! `d` is the difference seen and `V` its variance if `D` were true: the two rates are then
//! `p + (1 − w)·D` and `p − w·D`, with the rate `p = (failed + 1) / (sessions + 2)` of both groups
//! together and the canary's part `w` of the sessions. This is the mixture of likelihood ratios over
//! a normal distribution of differences of width `τ`, two smallest effects: fixed before anything is
//! seen, since a width that is chosen by the data is no mixture. Sources: Robbins, *Statistical
//! methods related to the law of the iterated logarithm* (1970), for the mixture; Johari, Koomen,
//! Pekelis, Walsh, *Always valid inference* (2022), for its use on two rates; Howard, Ramdas,
//! McAuliffe, Sekhon, *Time-uniform, nonparametric, nonasymptotic confidence sequences* (2021), and
//! Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas, *Time-uniform central limit theory and asymptotic
//! confidence sequences* (2024), for what it promises with an estimated variance.
//!
//! The promise is asymptotic, so small numbers are held back ([`LEAST_SESSIONS`],
//! [`LEAST_EVENTS`]); the simulations of `tower-affinity-testing` hold the method to its level at
//! rates from 0.2 % to 50 %.
//!
//! # Failures that come late
//!
//! A session can fail long after it was counted. Both groups get their sessions by the same draw at
//! the same time, so at each look their sessions are equally old, and each failure, whenever it
//! comes, is the canary's with the odds of the draw if both groups are equal. Late failures make a
//! difference show later; they make none where there is none.

mod auth;
mod compare;
mod interval;
mod measure;
mod mixture;
mod seen;
mod tally;
mod terms;
mod verdict;

pub use self::auth::{
    AUTH_FACTOR, AUTH_FLOOR, AUTH_LEAST, AUTH_WINDOW, AuthCount, AuthDetector, AuthExcess,
    AuthReading,
};
pub use self::compare::{Comparison, Naive, compare, verdict};
pub use self::interval::{Interval, LEAST_EVENTS, LEAST_SESSIONS};
pub use self::measure::Measured;
pub use self::tally::{StepTally, Tally};
pub use self::terms::{Measure, Measures, Terms, TermsError};
pub use self::verdict::Verdict;

#[cfg(test)]
mod tests;
