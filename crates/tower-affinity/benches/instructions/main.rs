//! How many instructions the layers add to a request, held by bounds.
//!
//! Instructions do not depend on what else the machine does, so a bound can be close. Each path runs
//! under callgrind in a process of its own; what the same request costs without the layers is taken
//! off. SHA-256 is left out, which an in-process clock has to measure (the bench `pinned`).
//!
//! `cargo bench -p tower-affinity --bench instructions` holds all paths against `bounds.txt`, and
//! `… -- accept` writes what it has counted there.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
#![allow(clippy::disallowed_methods, clippy::print_stdout, clippy::print_stderr)] // it measures and prints

mod bounds;
mod callgrind;
#[allow(dead_code)]
#[path = "../pinned/fixture.rs"]
mod fixture;
mod gateway;
mod paths;

use std::process::ExitCode;

use bounds::Bounds;

fn main() -> ExitCode {
    // cargo adds `--bench`
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        [callgrind::RUN, name] => {
            paths::run(name);
            ExitCode::SUCCESS
        }
        [] => hold(),
        ["accept"] => accept(),
        _ => {
            eprintln!("usage: instructions [accept]");
            ExitCode::FAILURE
        }
    }
}

/// Holds every path against its bound.
fn hold() -> ExitCode {
    let bounds = Bounds::read();
    let faults: Vec<String> = paths::ALL
        .iter()
        .filter_map(|path| bounds.fault(path.name, added(path)))
        .collect();
    for fault in &faults {
        eprintln!("{fault}");
    }
    if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Makes what every path costs now its bound.
fn accept() -> ExitCode {
    Bounds::write(paths::ALL.iter().map(|path| (path.name, added(path))));
    ExitCode::SUCCESS
}

/// What the layers add to one request on a path.
fn added(path: &paths::Path) -> u64 {
    let with = callgrind::count(path.name);
    let without = callgrind::count(path.without);
    let added = with.saturating_sub(without) / paths::CALLS;
    println!(
        "{:<24} {added:>9} instructions a request more than without the layers",
        path.name
    );
    added
}
