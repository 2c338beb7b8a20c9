//! The store in memory, its source taken as it is, over locks and atomics whose order of steps a
//! scheduler chooses: at random, and with few but unlucky switches of threads. Each order is a run of
//! its own, and one that fails is printed so that it can be played again.
//!
//! `INTERLEAVINGS` is the number of runs of each story; 2,000 by default.
#![allow(dead_code, unused_imports, unreachable_pub, clippy::print_stdout)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod store;
mod stories;

/// The names by which the store's source knows its crate.
pub(crate) use tower_affinity_core::*;

/// How many steps of the most unlucky kind are tried in one run.
const SWITCHES: usize = 3;

fn main() {
    let runs = std::env::var("INTERLEAVINGS").map_or(2_000, |runs| runs.parse().unwrap());
    for (name, story) in stories::ALL {
        shuttle::check_random(story, runs);
        shuttle::check_pct(story, runs, SWITCHES);
        println!("{name}: {runs} random orders, {runs} with {SWITCHES} switches");
    }
}
