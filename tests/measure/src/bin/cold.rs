//! What one load from memory costs here and now that no cache and no prefetcher foresees: the unit in
//! which a lookup among many rows is paid.
//!
//! `cargo run --release -p affinity-measure --bin cold -- MEBIBYTES`
#![expect(clippy::print_stdout, reason = "it tells what it measured")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::error::Error;
use std::time::Instant;

/// How many loads are timed together, and how often.
const TIMED: usize = 2_000;
const TIMES: usize = 1_000;

/// A cache line that says which one comes next.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(usize);

fn main() -> Result<(), Box<dyn Error>> {
    let asked = std::env::args().nth(1).ok_or("how many MiB?")?;
    let lines = cycle(asked.parse::<usize>()? << 20 >> 6);
    let mut at = 0;
    let mut times: Vec<f64> = (0..TIMES)
        .map(|_| {
            let begun = Instant::now();
            for _ in 0..TIMED {
                // each load has to wait for the one before
                at = lines.get(at).map_or(0, |line| line.0);
            }
            begun.elapsed().as_nanos() as f64 / TIMED as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let share = |of: usize| times.get(TIMES * of / 100).copied().unwrap_or(f64::NAN);
    println!(
        "one load among {asked} MiB: {:.0} ns (middle 80 %: {:.0} – {:.0})",
        share(50),
        share(10),
        share(90)
    );
    // what was loaded is used
    assert!(at < lines.len(), "a line leads out of the cycle");
    Ok(())
}

/// One way through all lines, at random.
fn cycle(len: usize) -> Vec<Line> {
    let mut order: Vec<usize> = (0..len).collect();
    let mut state = 88_172_645_463_325_252_u64;
    for nth in (1..len).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(nth, (state % (nth as u64 + 1)) as usize);
    }
    let mut lines = vec![Line(0); len];
    let next = order.iter().cycle().skip(1);
    for (from, to) in order.iter().zip(next) {
        if let Some(line) = lines.get_mut(*from) {
            *line = Line(*to);
        }
    }
    lines
}
