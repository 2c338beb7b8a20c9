//! Tables in Markdown: what was measured in each round, and ratios within a round, so that a busy
//! moment of the machine meets both sides.

use std::time::Duration;

use crate::load::{Faults, Outcome};

/// What one proxy did in one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// Microseconds of processor time for one request.
    pub(crate) cpu: f64,
    /// Requests a second.
    pub(crate) rate: f64,
    /// Latencies that 50 %, 99 % and 99.9 % of requests do not exceed, in microseconds.
    pub(crate) latencies: Option<[f64; 3]>,
    pub(crate) faults: Faults,
}

impl Cell {
    pub(crate) fn of(outcome: &Outcome, spent: Duration) -> Self {
        let latencies = [0.5, 0.99, 0.999].map(|share| micros(outcome.latency(share)));
        Self {
            cpu: micros(spent) / outcome.answers as f64,
            rate: outcome.rate(),
            latencies: Some(latencies),
            faults: outcome.faults,
        }
    }
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// What ratios are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// Processor time for one request.
    Cpu,
    /// Requests a second.
    Rate,
}

/// All rounds of one scenario.
pub(crate) struct Table {
    title: String,
    by: Judged,
    rounds: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, by: Judged) -> Self {
        Self {
            title: title.into(),
            by,
            rounds: Vec::new(),
        }
    }

    /// Adds a round: a cell for each proxy.
    pub(crate) fn round(&mut self, cells: Vec<Cell>) {
        self.rounds.push(cells);
    }

    /// The faults of all rounds.
    pub(crate) fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        self.rounds
            .iter()
            .flatten()
            .for_each(|cell| faults += cell.faults);
        faults
    }

    /// Prints a row for each name; ratios are to the first one.
    pub(crate) fn print(&self, names: &[&str]) {
        let mut cells = self.rounds.iter().flatten();
        let timed = cells.any(|cell| cell.latencies.is_some());
        let (titles, dashes) = if timed {
            (" p50, µs | p99 | p99.9 |", " ---: | ---: | ---: |")
        } else {
            ("", "")
        };
        println!("\n**{}**, {} rounds\n", self.title, self.rounds.len());
        let judged = match self.by {
            Judged::Cpu => "CPU",
            Judged::Rate => "requests/s",
        };
        println!(
            "| proxy | CPU a request, µs | all rounds | {judged} to the first, within a round | \
             all rounds | requests/s |{titles} wrong |"
        );
        println!("| --- | ---: | ---: | ---: | ---: | ---: |{dashes} ---: |");
        for (nth, name) in names.iter().enumerate() {
            self.print_row(nth, name);
        }
    }

    fn print_row(&self, nth: usize, name: &str) {
        let of =
            |value: fn(&Cell) -> f64| spread(self.rounds.iter().map(|round| value(&round[nth])));
        let [cpu, least, most] = of(|cell| cell.cpu);
        let judged: fn(&Cell) -> f64 = match self.by {
            Judged::Cpu => |cell| cell.cpu,
            Judged::Rate => |cell| cell.rate,
        };
        let rounds = self.rounds.iter();
        let ratios = rounds.map(|round| judged(&round[nth]) / judged(&round[0]));
        let [ratio, low, high] = spread(ratios);
        let [rate, ..] = of(|cell| cell.rate);
        let latencies = [0, 1, 2].map(|at: usize| {
            let values = self
                .rounds
                .iter()
                .filter_map(|round| Some(round[nth].latencies?[at]));
            let [median, ..] = spread(values);
            if median.is_nan() {
                String::new()
            } else {
                format!(" {median:.0} |")
            }
        });
        let wrong: u64 = self
            .rounds
            .iter()
            .map(|round| round[nth].faults.sum())
            .sum();
        println!(
            "| {name} | {cpu:.1} | {least:.1} – {most:.1} | **{ratio:.2}** | {low:.2} – {high:.2} | \
             {rate:.0} |{} {wrong} |",
            latencies.concat(),
        );
    }
}

/// The median, the least and the greatest of some values.
pub(crate) fn spread(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.get(values.len() / 2);
    [middle, values.first(), values.last()].map(|value| value.copied().unwrap_or(f64::NAN))
}
