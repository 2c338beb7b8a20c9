//! The picture of a day: what a store of assignments counts, with and without expiry.
//!
//! `cargo run --release -p affinity-measure --example day -- docs/live-counts.svg`
#![expect(clippy::print_stdout, reason = "it tells what it measured")]

mod drawing;

use std::path::Path;
use std::sync::Arc;

use affinity_tests::day::{Minute, Plan, SETTLED, Unforgetting, play};
use drawing::{Drawn, legend, sample};
use plotters::prelude::*;
use tower_affinity::core::MemoryStore;

const PLAN: Plan = Plan {
    endpoints: 6,
    added: 2,
    arrivals: 40.0,
    hours: 24,
    seed: 1,
};
const CAPACITY: usize = 1_000_000;
const HOURS: std::ops::Range<f64> = 0.0..24.0;

/// Its name, its points and its colour.
type Line<'a> = (&'a str, Vec<(f64, f64)>, RGBColor);

fn main() -> Drawn<()> {
    let path = std::env::args()
        .nth(1)
        .ok_or("the path of the picture is missing")?;
    let forgets = play(&PLAN, Arc::new(MemoryStore::new(CAPACITY)));
    let never = Unforgetting::new(MemoryStore::new(CAPACITY));
    let never = play(&PLAN, Arc::new(never));
    let wrong = forgets
        .iter()
        .filter(|minute| minute.counted != minute.truth);
    println!(
        "minutes in which counts with expiry differ from the truth: {}",
        wrong.count()
    );
    for (name, minutes) in [("with expiry", &forgets), ("without", &never)] {
        let (settled, night) = (minutes.len() / 3 + SETTLED, minutes.len() * 11 / 12);
        let after = minutes.iter().take(night).skip(settled);
        let worst = after.map(Minute::imbalance).fold(1.0, f64::max);
        println!(
            "{name}: the busiest endpoint over the mean, two hours after two were added: {worst:.2}"
        );
    }
    draw(Path::new(&path), &forgets, &never)
}

fn draw(path: &Path, forgets: &[Minute], never: &[Minute]) -> Drawn<()> {
    let area = SVGBackend::new(path, (860, 640)).into_drawing_area();
    area.fill(&WHITE)?;
    let (above, below) = area.split_vertically(320);
    let sum = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
    chart(
        &above,
        "sessions, of all endpoints",
        &[
            (
                "live (hidden by the next one)",
                series(forgets, |minute| sum(&minute.truth)),
                BLACK,
            ),
            (
                "counted, with expiry",
                series(forgets, |minute| sum(&minute.counted)),
                BLUE,
            ),
            (
                "counted, without",
                series(never, |minute| sum(&minute.counted)),
                RED,
            ),
        ],
    )?;
    chart(
        &below,
        "the busiest endpoint over the mean; two are added after 8 hours",
        &[
            ("with expiry", series(forgets, imbalance), BLUE),
            ("without", series(never, imbalance), RED),
        ],
    )?;
    area.present()?;
    Ok(())
}

/// A point for every fifth minute.
fn series(minutes: &[Minute], value: impl Fn(&Minute) -> f64) -> Vec<(f64, f64)> {
    let hours = (0..).map(|minute| f64::from(minute) / 60.0);
    let points = hours.zip(minutes.iter().map(value)).step_by(5);
    points.filter(|(_, value)| !value.is_nan()).collect()
}

/// Where few live, one session more or less says nothing.
fn imbalance(minute: &Minute) -> f64 {
    let live: u64 = minute.truth.iter().sum();
    if live < 20 * minute.truth.len() as u64 {
        return f64::NAN;
    }
    minute.imbalance()
}

fn chart<B: DrawingBackend>(
    area: &DrawingArea<B, plotters::coord::Shift>,
    title: &str,
    lines: &[Line<'_>],
) -> Drawn<()>
where
    B::ErrorType: 'static,
{
    let most = lines
        .iter()
        .flat_map(|(_, points, _)| points)
        .map(|(_, y)| *y);
    let most = most.fold(1.0, f64::max) * 1.05;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 16))
        .margin(8)
        .x_label_area_size(28)
        .y_label_area_size(60)
        .build_cartesian_2d(HOURS, 0.0..most)?;
    chart.configure_mesh().x_desc("hour").x_labels(13).draw()?;
    for (name, points, colour) in lines {
        let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2));
        let colour = *colour;
        chart
            .draw_series(line)?
            .label(*name)
            .legend(move |at| sample(at, colour));
    }
    legend(&mut chart)
}
