//! Plays many seeds of the simulator: `sim [--seeds N] [--from N] [--steps N]`.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a tool for a terminal

use std::process::ExitCode;

use tower_affinity_testing::sim::{self, Reached, Real, STEPS};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: u64| {
        let at = args.iter().position(|arg| arg == name);
        at.and_then(|at| args.get(at + 1))
            .and_then(|value| value.parse().ok())
            .unwrap_or(default)
    };
    let (seeds, from, steps) = (
        number("--seeds", 256),
        number("--from", 0),
        number("--steps", STEPS),
    );
    let (mut reached, mut failed, mut hash) = (Reached::default(), 0_u64, 0_u64);
    for seed in from..from.saturating_add(seeds) {
        match sim::simulate(seed, steps, &Real) {
            Ok(finished) => {
                reached.add(&finished.reached);
                hash = hash.rotate_left(1) ^ finished.hash;
            }
            Err(failure) => {
                failed += 1;
                eprintln!("{failure}\n");
            }
        }
    }
    println!("{seeds} seeds from {from}, {steps} steps each: {failed} failed, hash {hash:016x}");
    println!("{reached:#?}");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
