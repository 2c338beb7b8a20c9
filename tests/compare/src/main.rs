//! The gateway beside other proxies on one machine, over real sockets.
//!
//! `affinity-compare http|cores|tls GATEWAY [ROUNDS] [SECONDS]` measures all proxies that are installed, in
//! turn, and prints tables: what one request costs each in processor time, and ratios within a round.
//! `affinity-compare instructions GATEWAY` counts what a request costs the gateway in instructions.
//! `affinity-compare bare ADDRESS ENDPOINTS` is the proxy of hyper alone, which the first starts.
//! `affinity-compare soak GATEWAY [MILLIONS]` sends requests to the gateway while it is changed. All
//! fail if one answer was wrong.
//!
//! Every proxy has one thread on a processor of its own; what asks and what answers is this process, on
//! another one. It needs two processors and `taskset`. With `cores` every proxy has two threads, and all
//! share all processors.

#![expect(clippy::print_stdout, reason = "it prints what it measures")]
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // it measures real time, and has nobody to answer to

mod bare;
mod handshakes;
mod http1;
mod idle;
mod instructions;
mod load;
mod pins;
mod pods;
mod poll;
mod proxies;
mod soak;
mod table;
mod tls;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::load::Faults;
use crate::proxies::Proxy;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    if let ["bare", address, pods @ ..] = &args[..] {
        let parsed = |text: &&str| text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        bare::serve(parsed(address), pods.iter().map(parsed).collect());
        return ExitCode::SUCCESS;
    }
    let number = |nth: usize, default: f64| {
        args.get(nth).map_or(default, |arg| {
            arg.parse().unwrap_or_else(|e| panic!("{arg}: {e}"))
        })
    };
    let (rounds, seconds) = (
        number(2, 5.0) as usize,
        Duration::from_secs_f64(number(3, 2.0)),
    );
    let [what, gateway, ..] = args[..] else {
        panic!(
            "affinity-compare http|cores|tls|instructions|soak GATEWAY [ROUNDS|MILLIONS] [SECONDS]"
        );
    };
    // proxies are started in directories of their own
    let gateway = Path::new(gateway)
        .canonicalize()
        .unwrap_or_else(|e| panic!("{gateway}: {e}"));
    let faults = match what {
        "http" => http1::compare(&apart(&gateway), rounds, seconds),
        "cores" => {
            let mut proxies = proxies(&gateway);
            proxies.retain(Proxy::has_threads);
            http1::compare_cores(&proxies, rounds, seconds)
        }
        "tls" => {
            let mut proxies = apart(&gateway);
            proxies.retain(Proxy::speaks_all);
            tls::compare(&proxies, rounds, seconds)
        }
        "instructions" => instructions::count(gateway),
        "soak" => soak::run(&gateway, (number(2, 5.0) * 1e6) as u64),
        _ => panic!("{what} is neither http, cores, tls, instructions nor soak"),
    };

    if faults == Faults::default() {
        return ExitCode::SUCCESS;
    }
    println!("\nwrong: {faults:?}");
    ExitCode::FAILURE
}

/// The proxies that are here. From now on this process leaves them their processor.
fn apart(gateway: &Path) -> Vec<Proxy> {
    let mut first = CpuSet::new();
    first.set(0);
    sched_setaffinity(None, &first).expect("there is a first processor");
    proxies(gateway)
}

/// The proxies that are here.
fn proxies(gateway: &Path) -> Vec<Proxy> {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load of the machine before: {load}");
    Proxy::all(gateway)
}
