//! [`Terms`]: on what terms a canary is judged.

use thiserror::Error;

/// What is measured of each session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Measure {
    /// Whether it has failed.
    Failures,
    /// Whether it has reached its aim.
    Completions,
    /// Whether it had a slow answer.
    Slow,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Failures, Self::Completions, Self::Slow];

    /// Its name in configurations and answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failures => "failures",
            Self::Completions => "completions",
            Self::Slow => "slow",
        }
    }
}

/// The measures that a verdict stands on: [`Measure::Failures`] unless others are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measures([bool; 3]);

impl Measures {
    /// These measures; `None` if there are none.
    #[must_use]
    pub fn of(measures: &[Measure]) -> Option<Self> {
        let named = Measure::ALL.map(|measure| measures.contains(&measure));
        (!measures.is_empty()).then_some(Self(named))
    }

    /// Which they are.
    pub fn iter(self) -> impl Iterator<Item = Measure> {
        let all = Measure::ALL.into_iter().zip(self.0);
        all.filter_map(|(measure, named)| named.then_some(measure))
    }

    /// Whether one is among them.
    #[must_use]
    pub fn contains(self, measure: Measure) -> bool {
        self.iter().any(|named| named == measure)
    }
}

impl Default for Measures {
    fn default() -> Self {
        Self(Measure::ALL.map(|measure| measure == Measure::Failures))
    }
}

/// On what terms a canary is judged. By default: a difference of 1 point (0.01) matters, the level
/// is 0.05, and the verdict stands on failures alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    min_effect: f64,
    alpha: f64,
    measures: Measures,
}

// neither number is ever NaN
impl Eq for Terms {}

/// Terms on which nothing can be judged.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TermsError {
    /// The smallest effect is not accepted.
    #[error("accepted as the smallest effect: a difference of rates above 0 and at most 0.5")]
    MinEffect,
    /// The level is not accepted.
    #[error("accepted as alpha: above 0 and at most 0.2")]
    Alpha,
}

impl Terms {
    /// Differences of rates under `min_effect` do not matter (0.01 is one point of a hundred); with
    /// the chance `alpha` at most an equal canary is ever called better or worse.
    ///
    /// # Errors
    ///
    /// If `min_effect` is not above 0 and at most 0.5, or `alpha` not above 0 and at most 0.2.
    pub fn new(min_effect: f64, alpha: f64) -> Result<Self, TermsError> {
        if !(min_effect > 0.0 && min_effect <= 0.5) {
            return Err(TermsError::MinEffect);
        }
        if !(alpha > 0.0 && alpha <= 0.2) {
            return Err(TermsError::Alpha);
        }
        Ok(Self {
            min_effect,
            alpha,
            measures: Measures::default(),
        })
    }

    /// The verdict stands on these measures. They share `alpha` equally (Bonferroni), so each of
    /// several needs more sessions than one alone.
    #[must_use]
    pub const fn on(self, measures: Measures) -> Self {
        Self { measures, ..self }
    }

    /// The smallest difference that matters.
    #[must_use]
    pub const fn min_effect(&self) -> f64 {
        self.min_effect
    }

    /// The chance of a false alarm over all looks.
    #[must_use]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// What the verdict stands on.
    #[must_use]
    pub const fn measures(&self) -> Measures {
        self.measures
    }

    /// The part of `alpha` that one measure has. One that the verdict does not stand on is judged
    /// by itself and has all of it.
    #[must_use]
    pub fn alpha_of(&self, measure: Measure) -> f64 {
        match self.measures.contains(measure) {
            true => self.alpha / self.measures.iter().count() as f64,
            false => self.alpha,
        }
    }

    /// The width of the mixture: in units of effect, and never by the data.
    pub(super) const fn width(&self) -> f64 {
        2.0 * self.min_effect
    }
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            min_effect: 0.01,
            alpha: 0.05,
            measures: Measures::default(),
        }
    }
}
