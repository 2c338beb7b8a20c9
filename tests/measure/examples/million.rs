//! A million sessions in a day that come and go without a word: what the store counts, and what it
//! still has in the end.
//!
//! `cargo run --release -p affinity-measure --bin million`
#![expect(clippy::print_stdout, reason = "it tells what it measured")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use affinity_tests::day::{Minute, Plan, play};
use tower_affinity::core::MemoryStore;

/// 1,000,000 sessions: 694.5 a minute on average.
const PLAN: Plan = Plan {
    endpoints: 6,
    added: 2,
    arrivals: 694.5,
    hours: 24,
    seed: 1,
};
const CAPACITY: usize = 200_000;

fn main() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(MemoryStore::new(CAPACITY));
    let begun = Instant::now();
    let minutes = play(&PLAN, Arc::<MemoryStore>::clone(&store));
    let took = begun.elapsed();
    let live = |minute: &Minute| minute.truth.iter().sum::<u64>();
    let most = minutes.iter().map(live).max().unwrap_or(0);
    let last = minutes.last().map_or(0, live);
    let wrong = minutes.iter().filter(|of| of.counted != of.truth).count();
    println!(
        "{:.1?}: at most {most} sessions live at once, {last} at the end; {} rows at the end; \
         counts differ from the truth in {wrong} of {} minutes",
        took,
        store.rows(),
        minutes.len(),
    );
    if wrong > 0 || store.rows() as u64 != last {
        return Err("the store counts or keeps what does not live".into());
    }
    Ok(())
}
