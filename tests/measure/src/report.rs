//! Figures and how they are shown.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a program for people"
)]

use std::time::Instant;

use crate::job::Measured;
use crate::subjects;

/// The median and the middle 80 %.
pub(crate) struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (values.len().saturating_sub(1) as f64 * share).round() as usize;
            values.get(place).copied().unwrap_or(f64::NAN)
        };
        Self {
            low: at(0.1),
            median: at(0.5),
            high: at(0.9),
        }
    }
}

/// A reading of the clock.
#[expect(clippy::disallowed_methods, reason = "measuring needs the real clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// One line of a table in Markdown.
pub(crate) fn print(name: &str, rows: usize, measured: &Measured) {
    let Measured {
        fill,
        refresh,
        bytes,
        most_bytes,
    } = measured;
    println!(
        "| {name} | {rows} | {bytes:.1} | {most_bytes:.1} | {:.0} | **{:.0}** | {:.0} – {:.0} |",
        fill.median, refresh.median, refresh.low, refresh.high
    );
}

pub(crate) fn usage() {
    let names: Vec<&str> = subjects::ALL.iter().map(|(name, _)| *name).collect();
    eprintln!(
        "affinity-measure SUBJECT ROWS; subjects are {}",
        names.join(", ")
    );
}
