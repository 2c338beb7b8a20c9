//! The table of one run, as plain text.

use std::fmt::{self, Write};

use super::{
    board::{Affinity, Moment},
    tally::Counts,
};

const COLUMNS: [&str; 5] = ["started", "finished", "broken", "moved", "restarted"];

/// The whole table, one line after the other.
pub(crate) fn table(affinity: Affinity, moment: &Moment) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail; `fmt` only has one signature for all writers.
    let _ = write_table(&mut text, affinity, moment);
    text
}

/// One act in one line, for a log.
pub(crate) fn line(affinity: Affinity, title: &str, counts: &Counts) -> String {
    let pairs: Vec<_> = COLUMNS
        .iter()
        .zip(cells(counts))
        .map(|(column, cell)| format!("{column} {cell}"))
        .collect();
    format!(
        "{affinity}, {title}: {} | {}",
        pairs.join(" "),
        requests(counts)
    )
}

fn write_table(text: &mut String, affinity: Affinity, moment: &Moment) -> fmt::Result {
    let about = match affinity {
        Affinity::Off => "each request is drawn afresh",
        Affinity::On => "a session stays on its commit",
    };
    writeln!(text, "{affinity}: {about}")?;
    write!(text, "  {:<10}", "act")?;
    COLUMNS
        .iter()
        .try_for_each(|column| write!(text, "{column:>11}"))?;
    writeln!(text, "   requests per group")?;
    for (title, counts) in &moment.acts {
        write!(text, "  {title:<10}")?;
        cells(counts)
            .iter()
            .try_for_each(|cell| write!(text, "{cell:>11}"))?;
        writeln!(text, "   {}", requests(counts))?;
    }
    let weights: Vec<_> = moment
        .weights
        .iter()
        .map(|(group, weight)| format!("{group}={weight}"))
        .collect();
    writeln!(text, "  weights   {}", weights.join(" "))?;
    if let Some(order) = moment.orders.last() {
        writeln!(text, "  operator  {order}")?;
    }
    if let Some(why) = moment
        .acts
        .iter()
        .find_map(|(_, counts)| counts.first_break.as_ref())
    {
        writeln!(text, "  broken by {why}")?;
    }
    Ok(())
}

fn cells(counts: &Counts) -> [u64; 5] {
    [
        counts.started,
        counts.finished,
        counts.broken,
        counts.moved,
        counts.restarted,
    ]
}

fn requests(counts: &Counts) -> String {
    let pairs: Vec<_> = counts
        .requests
        .iter()
        .map(|(group, count)| format!("{group} {count}"))
        .collect();
    pairs.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::operator::Order;

    fn moment() -> Moment {
        let counts = Counts {
            started: 240,
            finished: 101,
            broken: 139,
            moved: 150,
            requests: [("9f1c2ab".to_owned(), 812), ("c3d4e5f".to_owned(), 401)].into(),
            first_break: Some("c3d4e5f answered 409: unknown node \"contact\"".to_owned()),
            ..Counts::default()
        };
        Moment {
            acts: vec![("replace", counts)],
            orders: vec![Order::Register("c3d4e5f"), Order::Promote("c3d4e5f")],
            weights: vec![("9f1c2ab".to_owned(), 0), ("c3d4e5f".to_owned(), 100)],
        }
    }

    #[test]
    fn the_table_shows_counts_weights_and_the_last_order() {
        assert_eq!(
            table(Affinity::Off, &moment()),
            "\
affinity off: each request is drawn afresh
  act           started   finished     broken      moved  restarted   requests per group
  replace           240        101        139        150          0   9f1c2ab 812  c3d4e5f 401
  weights   9f1c2ab=0 c3d4e5f=100
  operator  promote c3d4e5f
  broken by c3d4e5f answered 409: unknown node \"contact\"
"
        );
    }

    #[test]
    fn a_line_says_what_the_table_says() {
        let moment = moment();
        let lines: Vec<_> = moment
            .acts
            .iter()
            .map(|(title, counts)| line(Affinity::Off, title, counts))
            .collect();
        assert_eq!(
            lines,
            [
                "affinity off, replace: started 240 finished 101 broken 139 moved 150 restarted 0 \
              | 9f1c2ab 812  c3d4e5f 401"
            ]
        );
    }
}
