//! The picture of a cost that should not grow.

use std::path::Path;

use plotters::prelude::*;

use crate::drawing::{Drawn, legend, sample};

/// How much the cost may grow from the first point on.
const GOAL: f64 = 1.2;

/// The cost of one size.
pub(crate) struct Point {
    pub(crate) x: usize,
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Point {
    pub(crate) fn of(x: usize, mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |nth: usize| values[nth];
        Self {
            x,
            median: at(values.len() / 2),
            least: at(0),
            most: at(values.len() - 1),
        }
    }
}

/// A cost by the number of something.
pub(crate) struct Picture<'a> {
    pub(crate) what: &'a str,
    pub(crate) points: &'a [Point],
}

impl Picture<'_> {
    pub(crate) fn draw(&self, path: &Path) -> Drawn<()> {
        let area = SVGBackend::new(path, (860, 360)).into_drawing_area();
        area.fill(&WHITE)?;
        let points = || self.points.iter().map(|point| (point.x as f64, point));
        let first = self.points.first().ok_or("nothing was measured")?;
        let last = self.points.last().map_or(1.0, |point| point.x as f64);
        let goal = first.median * GOAL;
        let most = points().map(|(_, point)| point.most).fold(goal, f64::max) * 1.15;
        let mut chart = ChartBuilder::on(&area)
            .caption(
                format!(
                    "Processor time of a pinned request by the number of {}",
                    self.what
                ),
                ("sans-serif", 16),
            )
            .margin(8)
            .margin_right(40)
            .x_label_area_size(40)
            .y_label_area_size(60)
            .build_cartesian_2d((first.x as f64..last).log_scale(), 0.0..most)?;
        chart
            .configure_mesh()
            .x_desc(format!("{} (logarithmic)", self.what))
            .y_desc("µs of CPU a request")
            .max_light_lines(2)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .draw()?;
        let line = LineSeries::new(
            points().map(|(x, point)| (x, point.median)),
            BLUE.stroke_width(2),
        );
        chart
            .draw_series(line)?
            .label("GatewayLayer with GroupBalance: median, least and most of all rounds")
            .legend(|at| sample(at, BLUE));
        let bars = points().map(|(x, point)| {
            ErrorBar::new_vertical(x, point.least, point.median, point.most, BLUE.filled(), 8)
        });
        chart.draw_series(bars)?;
        let bound = [(first.x as f64, goal), (last, goal)];
        chart
            .draw_series(LineSeries::new(bound, RED.stroke_width(2)))?
            .label(format!("goal: at most {GOAL} times the first point"))
            .legend(|at| sample(at, RED));
        legend(&mut chart)?;
        area.present()?;
        Ok(())
    }
}
