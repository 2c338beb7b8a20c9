//! Rounds in which everything is measured once, so that a busy moment of the machine meets all of
//! it alike: ratios within a round say more than times.

use std::fmt::Write;
use std::time::Instant;

/// How many calls one measurement is made of: enough for the clock, and few enough for most
/// measurements to pass without being interrupted.
const CALLS: usize = 20;

/// How many rounds there are.
const ROUNDS: usize = 5_000;

/// One thing to measure: prepares a number of calls, and runs them.
pub(crate) struct Subject<'a> {
    pub(crate) name: &'static str,
    pub(crate) run: Box<dyn FnMut(usize) -> Span + 'a>,
}

/// How long prepared calls took, in nanoseconds for each.
pub(crate) struct Span(f64);

/// Times `calls` prepared inputs.
pub(crate) fn time<I, O>(inputs: Vec<I>, mut call: impl FnMut(I) -> O) -> Span {
    let calls = inputs.len() as f64;
    let start = Instant::now();
    for input in inputs {
        std::hint::black_box(call(std::hint::black_box(input)));
    }
    Span(start.elapsed().as_nanos() as f64 / calls)
}

/// All measurements of one subject, one for each round.
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) nanos: Vec<f64>,
}

/// Measures all subjects in turn, round after round.
pub(crate) fn measure(mut subjects: Vec<Subject<'_>>) -> Vec<Series> {
    let mut series: Vec<Series> = subjects
        .iter()
        .map(|subject| Series {
            name: subject.name,
            nanos: Vec::with_capacity(ROUNDS),
        })
        .collect();
    for round in 0..ROUNDS + ROUNDS / 10 {
        for (subject, series) in subjects.iter_mut().zip(&mut series) {
            let Span(nanos) = (subject.run)(CALLS);
            // the first tenth warms caches and clocks
            if round >= ROUNDS / 10 {
                series.nanos.push(nanos);
            }
        }
    }
    series
}

/// The median and the range that holds the middle eight tenths.
pub(crate) fn spread(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[(values.len() as f64 * share) as usize];
    (at(0.5), at(0.1), at(0.9))
}

/// A row of the table.
pub(crate) fn row(text: &mut String, name: &str, values: Vec<f64>, digits: usize) {
    let (median, low, high) = spread(values);
    writeln!(
        text,
        "{name:<44} {median:>9.digits$}   {low:.digits$} .. {high:.digits$}"
    )
    .unwrap();
}
