//! [`Measured`]: one measure of two groups.

use super::interval::Look;
use super::mixture::Mixture;
use super::seen::{Seen, Share};
use super::{Interval, LEAST_SESSIONS, Measure, Tally, Terms, Verdict};

/// One measure of two groups. Rates are parts of all sessions, from 0 to 1; differences are canary
/// minus stable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The canary's rate; `None` without a session.
    pub canary: Option<f64>,
    /// The stable group's rate; `None` without a session.
    pub stable: Option<f64>,
    /// The difference that was seen.
    pub difference: Option<f64>,
    /// Where the true difference is.
    pub interval: Interval,
    /// What that says of the canary.
    pub verdict: Verdict,
    /// How many more sessions the smaller group needs until there is a verdict, if rates and shares
    /// stay as they are: 0 if there is one, `None` before anything is known.
    pub needed: Option<u64>,
}

impl Measured {
    pub(super) fn of(measure: Measure, canary: &Tally, stable: &Tally, terms: &Terms) -> Self {
        let mixture = mixture(measure, terms);
        let (canary, stable) = (bad(measure, canary), bad(measure, stable));
        let look = Look::at(canary, stable, mixture);
        let verdict = judged(look.as_ref(), terms);
        let seen = Seen::of(canary, stable);
        let smaller = canary.sessions.min(stable.sessions);
        let needed = |seen| needed(&seen, smaller, mixture, terms.min_effect());
        let bad = Self {
            canary: canary.rate(),
            stable: stable.rate(),
            difference: seen.map(|seen| seen.difference),
            interval: look.as_ref().map_or(Interval::ANYWHERE, Interval::of),
            verdict,
            needed: match verdict {
                Verdict::NotEnoughYet => seen.map(needed),
                Verdict::Better | Verdict::NoWorse | Verdict::Worse => Some(0),
            },
        };
        match measure {
            Measure::Failures | Measure::Slow => bad,
            Measure::Completions => Self {
                canary: canary.the_rest().rate(),
                stable: stable.the_rest().rate(),
                ..bad.of_the_rest()
            },
        }
    }

    fn of_the_rest(self) -> Self {
        Self {
            difference: self.difference.map(|difference| 0.0 - difference),
            interval: self.interval.of_the_rest(),
            ..self
        }
    }
}

/// The verdict on one measure.
pub(super) fn verdict(measure: Measure, canary: &Tally, stable: &Tally, terms: &Terms) -> Verdict {
    let (canary, stable) = (bad(measure, canary), bad(measure, stable));
    let look = Look::at(canary, stable, mixture(measure, terms));
    judged(look.as_ref(), terms)
}

fn judged(look: Option<&Look>, terms: &Terms) -> Verdict {
    look.map_or(Verdict::NotEnoughYet, |look| {
        Verdict::of(look, terms.min_effect())
    })
}

fn mixture(measure: Measure, terms: &Terms) -> Mixture {
    Mixture {
        width: terms.width(),
        alpha: terms.alpha_of(measure),
    }
}

/// The sessions that speak against a group. A tally that counts more of them than it has sessions
/// is summed from words of different moments.
fn bad(measure: Measure, tally: &Tally) -> Share {
    let events = match measure {
        Measure::Failures => tally.failed,
        Measure::Slow => tally.slow,
        Measure::Completions => tally.sessions.saturating_sub(tally.completed),
    };
    Share {
        events: events.min(tally.sessions),
        sessions: tally.sessions,
    }
}

/// How many more sessions the smaller group needs.
fn needed(seen: &Seen, smaller: u64, mixture: Mixture, min_effect: f64) -> u64 {
    // the verdict that is nearer at this difference
    let (to_worse, to_no_worse) = (seen.difference, min_effect - seen.difference);
    let (apart, truth) = match to_worse > to_no_worse {
        true => (to_worse, 0.0),
        false => (to_no_worse, min_effect),
    };
    let scale = seen.variance(truth) / mixture.variance(apart);
    let all = libm::ceil(smaller as f64 * scale) as u64;
    // something is missing yet, if only an event
    all.max(LEAST_SESSIONS).saturating_sub(smaller).max(1)
}
