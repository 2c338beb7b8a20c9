//! How long sessions are, and how often they ask.

use std::time::Duration;

use serde::Serialize;
use tower_affinity::core::Timestamp;

use super::dice::Dice;
use crate::config::{Bounds, Section};

/// How long a session's client goes on to send requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "distribution")]
#[non_exhaustive]
pub enum Length {
    /// Each session is as long as the others.
    Fixed {
        /// The length, in milliseconds.
        mean: u64,
    },
    /// A session may end at any time.
    Exponential {
        /// The mean, in milliseconds.
        mean: u64,
    },
    /// Most are short, and a few are very long.
    Lognormal {
        /// Half of them are shorter, in milliseconds.
        p50: u64,
        /// 95 of 100 are shorter, in milliseconds.
        p95: u64,
    },
}

/// How long a session's client waits between two requests.
///
/// The first request after any moment is known without playing those before it; that holds for
/// these two only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "distribution")]
#[non_exhaustive]
pub enum Think {
    /// Always as long.
    Fixed {
        /// The time between two requests, in milliseconds.
        mean: u64,
    },
    /// A request may come at any time.
    Exponential {
        /// The mean, in milliseconds.
        mean: u64,
    },
}

impl Length {
    pub(super) fn read(section: &Section<'_>) -> Option<Self> {
        let words = [("fixed", 0), ("exponential", 1), ("lognormal", 2)];
        let word = section.required("distribution", "\"fixed\", \"exponential\", \"lognormal\"");
        let word = word.and_then(|field| field.word(&words));
        let length = match word? {
            2 => {
                let (p50, p95) = (span(section, "p50"), span(section, "p95"));
                let (p50, p95) = (p50?, p95?);
                if p95 < p50 {
                    section.refuse("p95", "is shorter than p50; accepted: at least p50");
                }
                Self::Lognormal { p50, p95 }
            }
            1 => Self::Exponential {
                mean: span(section, "mean")?,
            },
            _ => Self::Fixed {
                mean: span(section, "mean")?,
            },
        };
        section.finish();
        Some(length)
    }

    /// One session's length: at least a millisecond, at most [`LONGEST`].
    pub(super) fn draw(self, dice: &mut Dice) -> Duration {
        let millis = match self {
            Self::Fixed { mean } => mean as f64,
            Self::Exponential { mean } => mean as f64 * dice.exponential(),
            Self::Lognormal { p50, .. } => p50 as f64 * libm::exp(self.sigma() * dice.normal()),
        };
        Duration::from_millis(millis as u64).clamp(Duration::from_millis(1), LONGEST)
    }

    /// The length that half of the sessions pass.
    pub(super) fn p50(self) -> Duration {
        let millis = match self {
            Self::Fixed { mean } => mean,
            Self::Exponential { mean } => (mean as f64 * std::f64::consts::LN_2) as u64,
            Self::Lognormal { p50, .. } => p50,
        };
        Duration::from_millis(millis).min(LONGEST)
    }

    /// The length that 1 of 1,000 sessions passes.
    pub(super) fn p999(self) -> Duration {
        let millis = match self {
            Self::Fixed { mean } => mean as f64,
            Self::Exponential { mean } => mean as f64 * libm::log(1000.0),
            Self::Lognormal { p50, .. } => p50 as f64 * libm::exp(self.sigma() * Z_999),
        };
        Duration::from_millis(millis as u64).min(LONGEST)
    }

    fn sigma(self) -> f64 {
        match self {
            Self::Lognormal { p50, p95 } => libm::log(p95 as f64 / p50 as f64) / Z_95,
            Self::Fixed { .. } | Self::Exponential { .. } => 0.0,
        }
    }
}

impl Think {
    pub(super) fn read(section: &Section<'_>) -> Option<Self> {
        let words = [("fixed", false), ("exponential", true)];
        let word = section.required("distribution", "\"fixed\", \"exponential\"");
        let word = word.and_then(|field| field.word(&words));
        let mean = span(section, "mean");
        section.finish();
        Some(match (word?, mean?) {
            (false, mean) => Self::Fixed { mean },
            (true, mean) => Self::Exponential { mean },
        })
    }

    /// The first request at `at` or later of a session whose first one was at `begun`.
    pub(super) fn first(self, begun: Timestamp, at: Timestamp, dice: &mut Dice) -> Timestamp {
        match self {
            Self::Fixed { mean } => {
                let since = at.as_millis().saturating_sub(begun.as_millis());
                begun.plus(Duration::from_millis(
                    since.div_ceil(mean).saturating_mul(mean),
                ))
            }
            // it has no memory: how long nothing has come says nothing of what comes
            Self::Exponential { mean } => {
                let wait = mean as f64 * dice.exponential();
                at.plus(Duration::from_millis(wait as u64))
            }
        }
    }

    /// Requests that a session sends in a second.
    pub(super) fn rate(self) -> f64 {
        let (Self::Fixed { mean } | Self::Exponential { mean }) = self;
        1000.0 / mean as f64
    }
}

fn span(section: &Section<'_>, name: &'static str) -> Option<u64> {
    let span = section.required(name, &SPAN)?.duration(&SPAN)?;
    u64::try_from(span.as_millis()).ok()
}

const SPAN: Bounds = Bounds::millis(100, 86_400_000);
/// Far above any flow; it keeps the tail of a wide distribution from living for ever.
const LONGEST: Duration = Duration::from_secs(7 * 86_400);
/// The quantiles of the normal distribution.
const Z_95: f64 = 1.644_853_626_951_472_7;
const Z_999: f64 = 3.090_232_306_167_813_5;
