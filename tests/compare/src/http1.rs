//! HTTP/1.1: every proxy in every scenario, round after round.

use std::time::Duration;

use affinity_tests::tls::Pair;

use crate::idle;
use crate::load::{self, Client, Faults, Load};
use crate::pins;
use crate::pods::{LARGE, Pods};
use crate::proxies::{Proxy, Running, Site, Wire};
use crate::table::{Cell, Judged, Table};

/// How long a proxy is asked before anything is measured.
const WARM: Duration = Duration::from_millis(300);

/// Requests a second where their number does not depend on the proxy: far below what any can do.
const RATE: u32 = 5_000;

/// A way of asking.
struct Scenario {
    name: &'static str,
    load: Load,
    pinned: bool,
}

/// All ways of asking, each for so long.
fn scenarios(span: Duration) -> [Scenario; 5] {
    let load = Load {
        connections: 64,
        path: "/",
        closes: false,
        rate: None,
        warm: WARM,
        span,
    };
    let scenario = |name, load, pinned| Scenario { name, load, pinned };
    [
        scenario("pinned: 1 KiB, 64 connections that are kept", load, true),
        scenario(
            "new: the same without a cookie; the answer sets one",
            load,
            false,
        ),
        scenario(
            "large: pinned, 64 KiB",
            Load {
                path: LARGE,
                ..load
            },
            true,
        ),
        scenario(
            "connections: pinned, each request on a connection of its own, 32 at a time",
            Load {
                connections: 32,
                closes: true,
                ..load
            },
            true,
        ),
        scenario(
            "rate: pinned, 5,000 requests a second; latency from when they are due",
            Load {
                rate: Some(RATE),
                ..load
            },
            true,
        ),
    ]
}

/// What clients of one proxy send.
struct Clients {
    pinned: Vec<Client>,
    new: Vec<Client>,
}

/// Compares all proxies, each with one thread; the faults of all answers.
pub(crate) fn compare(proxies: &[Proxy], rounds: usize, span: Duration) -> Faults {
    let (pods, certificate) = (Pods::start(), Pair::until_the_end_of(2099));
    let running = start(proxies, &pods, &certificate, 1);
    // before anybody has asked
    let idle: Vec<idle::Idle> = running.iter().map(idle::measure).collect();
    let faults = ask(proxies, &running, rounds, &scenarios(span), Judged::Cpu);
    idle::print(&names(&running), &idle);
    faults
}

/// Compares all proxies, each with two threads that share two processors with what asks and what
/// answers: how many requests all of that can do in a second.
pub(crate) fn compare_cores(proxies: &[Proxy], rounds: usize, span: Duration) -> Faults {
    let (pods, certificate) = (Pods::start(), Pair::until_the_end_of(2099));
    let running = start(proxies, &pods, &certificate, 2);
    let [pinned, new, ..] = scenarios(span);
    ask(proxies, &running, rounds, &[pinned, new], Judged::Rate)
}

fn start(proxies: &[Proxy], pods: &Pods, certificate: &Pair, threads: usize) -> Vec<Running> {
    let site = Site {
        pods,
        certificate,
        threads,
    };
    let started = proxies.iter().map(|proxy| proxy.start(Wire::Plain, site));
    started.collect()
}

fn names(running: &[Running]) -> Vec<&'static str> {
    running.iter().map(|proxy| proxy.name).collect()
}

/// Asks all proxies in turn, in every way, round after round, and prints what that was.
fn ask(
    proxies: &[Proxy],
    running: &[Running],
    rounds: usize,
    scenarios: &[Scenario],
    by: Judged,
) -> Faults {
    let clients: Vec<Clients> = proxies.iter().zip(running).map(clients).collect();
    let tables = scenarios
        .iter()
        .map(|scenario| Table::new(scenario.name, by));
    let mut tables: Vec<Table> = tables.collect();
    for _ in 0..rounds {
        for (scenario, table) in scenarios.iter().zip(&mut tables) {
            let cells = running.iter().zip(&clients).map(|(proxy, clients)| {
                let clients = if scenario.pinned {
                    &clients.pinned
                } else {
                    &clients.new
                };
                measure(proxy, &scenario.load, clients)
            });
            table.round(cells.collect());
        }
    }
    let names = names(running);
    let mut faults = Faults::default();
    for table in &tables {
        faults += table.faults();
        table.print(&names);
    }
    faults
}

fn clients((proxy, running): (&Proxy, &Running)) -> Clients {
    let pinned = pins::gather(running.address);
    if matches!(proxy, Proxy::Ours(_) | Proxy::HaproxyJwt) {
        pins::refuses_forged(running.address, &pinned);
    }
    Clients {
        pinned,
        new: vec![Client::NEW],
    }
}

/// What a load costs a proxy.
fn measure(proxy: &Running, load: &Load, clients: &[Client]) -> Cell {
    let mut before = Duration::ZERO;
    let outcome = load::run(load, proxy.address, clients, || before = proxy.cpu());
    let spent = proxy.cpu() - before;
    Cell::of(&outcome, spent)
}
