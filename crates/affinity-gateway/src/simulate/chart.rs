//! Load over time, drawn for a terminal and as SVG.

use std::fmt::Write;

use super::report::{Report, Sample};

/// Live sessions of each group over the time of the plan: one line of blocks for each group, all to
/// one scale, `width` blocks wide.
#[must_use]
pub fn lines(report: &Report, width: usize) -> Vec<(String, String)> {
    let most = most(report);
    let groups = report.groups.iter().enumerate();
    groups
        .map(|(group, name)| {
            let block = |column| {
                let live = column_of(report, column, width).and_then(|at| at.live.get(group));
                let live = live.copied().unwrap_or_default();
                // nobody at all looks different from a few
                let height = (live * 8).div_ceil(most.max(1));
                BLOCKS
                    .get(usize::try_from(height).unwrap_or_default())
                    .copied()
                    .unwrap_or(' ')
            };
            (name.clone(), (0..width).map(block).collect())
        })
        .collect()
}

/// The same as a picture: a curve for each group, a line for each step.
#[must_use]
pub fn svg(report: &Report) -> String {
    let (most, end) = (most(report).max(1) as f64, end(report).max(1.0));
    let x = |at: f64| LEFT + at / end * (WIDTH - LEFT - RIGHT);
    let y = |live: f64| HEIGHT - BOTTOM - live / most * (HEIGHT - TOP - BOTTOM);
    let mut picture = Picture(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Live sessions of each group</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    ));
    for quarter in 0..=4 {
        let live = most * f64::from(quarter) / 4.0;
        picture.line((LEFT, y(live)), (WIDTH - RIGHT, y(live)), "#dddddd");
        picture.text(
            (LEFT - 8.0, y(live) + 4.0),
            "end",
            "#333333",
            &format!("{live:.0}"),
        );
    }
    for step in report.steps.iter().filter(|step| step.step > 0) {
        let at = x(step.from_secs);
        picture.line((at, TOP), (at, HEIGHT - BOTTOM), "#aaaaaa");
        picture.text(
            (at + 3.0, TOP - 6.0),
            "start",
            "#333333",
            &step.step.to_string(),
        );
        let minutes = format!("{:.0} min", step.from_secs / 60.0);
        picture.text((at, HEIGHT - BOTTOM + 18.0), "middle", "#333333", &minutes);
    }
    for (group, name) in report.groups.iter().enumerate() {
        let colour = COLOURS
            .get(group % COLOURS.len())
            .copied()
            .unwrap_or_default();
        let points = report.samples.iter().filter_map(|sample| {
            let live = *sample.live.get(group)?;
            Some(format!("{:.1},{:.1}", x(sample.at), y(live as f64)))
        });
        picture.curve(&points.collect::<Vec<_>>().join(" "), colour);
        let row = TOP + 16.0 * (group as f64 + 1.0);
        picture.text((WIDTH - RIGHT + 10.0, row), "start", colour, name);
    }
    picture.0 + "</svg>\n"
}

struct Picture(String);

impl Picture {
    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) {
        self.add(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
        ));
    }

    /// `text` holds no character that XML would read as its own: names of groups cannot.
    fn text(&mut self, (x, y): (f64, f64), anchor: &str, colour: &str, text: &str) {
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{text}</text>"
        ));
    }

    fn curve(&mut self, points: &str, colour: &str) {
        self.add(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        ));
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // text takes all that is written to it
        let _ = writeln!(self.0, "{element}");
    }
}

fn most(report: &Report) -> u64 {
    let live = report.samples.iter().flat_map(|sample| &sample.live);
    live.copied().max().unwrap_or_default()
}

fn end(report: &Report) -> f64 {
    report.samples.last().map_or(0.0, |sample| sample.at)
}

/// The last look that is not after a column's place.
fn column_of(report: &Report, column: usize, width: usize) -> Option<&Sample> {
    let last = width.saturating_sub(1).max(1);
    let at = end(report) * column as f64 / last as f64;
    let after = report.samples.partition_point(|sample| sample.at <= at);
    report.samples.get(after.checked_sub(1)?)
}

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Told apart by those who see red and green alike (Okabe and Ito 2008).
const COLOURS: [&str; 6] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#000000",
];
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 180.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 40.0;
