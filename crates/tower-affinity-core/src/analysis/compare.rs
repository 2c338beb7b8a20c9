//! [`compare`]: a canary beside the stable group.

use super::measure;
use super::{Measure, Measured, Tally, Terms, Verdict};

/// A canary beside the stable group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Sessions that failed.
    pub failures: Measured,
    /// Sessions that reached their aim: more is better.
    pub completions: Measured,
    /// Sessions that had a slow answer.
    pub slow: Measured,
    /// What a comparison says that knows nothing of sessions.
    pub naive: Naive,
    /// The verdict on the measures of [`Terms::measures`] together.
    pub verdict: Verdict,
}

impl Comparison {
    /// One of its measures.
    #[must_use]
    pub const fn measured(&self, measure: Measure) -> &Measured {
        match measure {
            Measure::Failures => &self.failures,
            Measure::Completions => &self.completions,
            Measure::Slow => &self.slow,
        }
    }

    /// How many more sessions the smaller group needs until there is a verdict; see
    /// [`Measured::needed`].
    #[must_use]
    pub fn needed(&self, terms: &Terms) -> Option<u64> {
        if self.verdict != Verdict::NotEnoughYet {
            return Some(0);
        }
        let measures = terms.measures().iter();
        let needed: Option<Vec<_>> = measures
            .map(|measure| self.measured(measure).needed)
            .collect();
        needed?.into_iter().max()
    }
}

/// The failed part of all requests: those of sessions from before the step are counted along, and
/// these are all the stable group's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Naive {
    /// The canary's; `None` without a request.
    pub canary: Option<f64>,
    /// The stable group's; `None` without a request.
    pub stable: Option<f64>,
    /// The difference, canary minus stable.
    pub difference: Option<f64>,
    /// By how much the difference is above that of the sessions' failures.
    pub off: Option<f64>,
}

/// Judges a canary. Any counts are accepted; see the [module](super) for the method.
#[must_use]
pub fn compare(canary: &Tally, stable: &Tally, terms: &Terms) -> Comparison {
    let measured = |measure| Measured::of(measure, canary, stable, terms);
    let failures = measured(Measure::Failures);
    Comparison {
        failures,
        completions: measured(Measure::Completions),
        slow: measured(Measure::Slow),
        naive: naive(canary, stable, &failures),
        verdict: verdict(canary, stable, terms),
    }
}

/// The verdict of [`compare`] alone, without the intervals that show it.
#[must_use]
pub fn verdict(canary: &Tally, stable: &Tally, terms: &Terms) -> Verdict {
    let measures = terms.measures().iter();
    let verdicts = measures.map(|measure| measure::verdict(measure, canary, stable, terms));
    verdicts
        .reduce(Verdict::and)
        .unwrap_or(Verdict::NotEnoughYet)
}

fn naive(canary: &Tally, stable: &Tally, failures: &Measured) -> Naive {
    let rate = |tally: &Tally| {
        (tally.requests > 0).then(|| tally.failed_requests as f64 / tally.requests as f64)
    };
    let (canary, stable) = (rate(canary), rate(stable));
    let difference = canary.zip(stable).map(|(canary, stable)| canary - stable);
    Naive {
        canary,
        stable,
        difference,
        off: difference
            .zip(failures.difference)
            .map(|(naive, sessions)| naive - sessions),
    }
}
