//! The simulator is tested itself: each planted bug replaces one part and has to be found.

mod changes;
mod choices;
mod chosen;
mod decisions;
mod drained;
mod endpoints;
mod facts;

use tower_affinity_testing::sim::{self, Parts, STEPS};

const SEEDS: u64 = 256;

/// The invariant that finds the bug first, at the first seed that does.
fn found(bug: &dyn Parts) -> (&'static str, u64, u64) {
    let failure = (0..SEEDS).find_map(|seed| sim::simulate(seed, STEPS, bug).err());
    let failure = failure.unwrap_or_else(|| panic!("{SEEDS} seeds find nothing wrong"));
    assert!(!failure.events.is_empty(), "a failure tells what led to it");
    (failure.invariant, failure.seed, failure.step)
}

#[test]
fn every_planted_bug_is_found() {
    let mut missed = Vec::new();
    for (name, bug, invariants) in decisions::all()
        .into_iter()
        .chain(changes::all())
        .chain(choices::all())
        .chain(chosen::all())
        .chain(facts::all())
        .chain(drained::all())
        .chain(endpoints::all())
    {
        let (invariant, seed, step) = found(&*bug);
        println!("{name}: {invariant}, seed {seed}, step {step}");
        if !invariants.contains(&invariant) {
            missed.push(format!(
                "{name}: found by {invariant}, not by one of {invariants:?}"
            ));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// A bug's name, the bug, and the invariants that may find it.
type Planted = (&'static str, Box<dyn Parts>, &'static [&'static str]);
