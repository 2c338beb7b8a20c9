//! Measures one store of assignments: `affinity-measure SUBJECT ROWS`. Each process measures one, so
//! that none meets the heap that another has left.
//!
//! The job is the same for all: fill it with sessions, then get and refresh each of them in an order
//! that no cache foresees, several times over. Every refresh is due.

mod job;
mod report;
mod subjects;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let asked = (args.next(), args.next().and_then(|rows| rows.parse().ok()));
    let (Some(name), Some(rows)) = asked else {
        report::usage();
        return ExitCode::FAILURE;
    };
    match subjects::by_name(&name) {
        Some(make) => {
            report::print(&name, rows, &job::run(make, rows));
            ExitCode::SUCCESS
        }
        None => {
            report::usage();
            ExitCode::FAILURE
        }
    }
}
