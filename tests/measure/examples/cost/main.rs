//! What a pinned request costs the stack of a gateway, by how much it has to know: endpoints, groups,
//! sessions that live. Draws one picture for each, and prints the figures.
//!
//! `cargo run --release -p affinity-measure --example cost -- docs [ROUNDS]`
#![expect(clippy::print_stdout, reason = "it tells what it measured")]
#![allow(clippy::expect_used, clippy::indexing_slicing)] // it has nobody to answer to

#[path = "../drawing/mod.rs"]
mod drawing;
mod picture;
mod stack;

use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::drawing::Drawn;
use crate::picture::{Picture, Point};
use crate::stack::{Size, Stack};

/// How many requests are measured together: prepared before, so that only the stack's work counts.
const REQUESTS: usize = 500;

/// How many of these make one value.
const BATCHES: usize = 8;

/// A small gateway; each picture makes one thing in it larger.
const SMALL: Size = Size {
    groups: 2,
    endpoints: 6,
    sessions: 64,
};

fn main() -> Drawn<()> {
    let mut args = std::env::args().skip(1);
    let dir = args
        .next()
        .ok_or("the directory of the pictures is missing")?;
    let rounds = args
        .next()
        .map_or(Ok(15), |rounds| rounds.parse::<usize>())?;
    let endpoints =
        [6, 20, 60, 200, 600, 2_000, 10_000].map(|endpoints| Size { endpoints, ..SMALL });
    let groups = [2, 5, 10, 20, 50].map(|groups| Size {
        groups,
        endpoints: 3 * groups,
        ..SMALL
    });
    let sessions = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];
    let sessions = sessions.map(|sessions| Size { sessions, ..SMALL });
    for (what, sizes, of) in [
        (
            "endpoints",
            &endpoints[..],
            (|size| size.endpoints) as fn(&Size) -> usize,
        ),
        ("groups", &groups, |size| size.groups),
        ("sessions", &sessions, |size| size.sessions),
    ] {
        let points: Vec<Point> = measure(sizes, rounds)
            .into_iter()
            .zip(sizes)
            .map(|(values, size)| Point::of(of(size), values))
            .collect();
        println!("\n| {what} | µs of CPU a request | all rounds |\n| ---: | ---: | ---: |");
        for Point {
            x,
            median,
            least,
            most,
        } in &points
        {
            println!("| {x} | {median:.2} | {least:.2} – {most:.2} |");
        }
        Picture {
            what,
            points: &points,
        }
        .draw(&Path::new(&dir).join(format!("cost-{what}.svg")))?;
    }
    Ok(())
}

/// Microseconds of processor time for one request, of every size and in every round.
fn measure(sizes: &[Size], rounds: usize) -> Vec<Vec<f64>> {
    let mut stacks: Vec<Stack> = sizes.iter().map(Stack::new).collect();
    let mut values = vec![Vec::with_capacity(rounds); sizes.len()];
    // the first round warms caches, and is not counted
    for round in 0..=rounds {
        for (stack, values) in stacks.iter_mut().zip(&mut values) {
            let value = cost(stack);
            if round > 0 {
                values.push(value);
            }
        }
    }
    values
}

fn cost(stack: &mut Stack) -> f64 {
    let mut spent = Duration::ZERO;
    for _ in 0..BATCHES {
        let requests = stack.requests(REQUESTS);
        let before = cpu();
        stack.serve(requests);
        spent += cpu() - before;
    }
    spent.as_secs_f64() * 1e6 / (BATCHES * REQUESTS) as f64
}

/// The processor time of this thread.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("time that was spent is positive")
}
