//! TLS and HTTP/2: connections that are kept, by h2load, and handshakes.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use affinity_tests::tls::Pair;

use crate::handshakes::{self, Handshake};
use crate::load::{Client, Faults};
use crate::pins;
use crate::pods::{GROUPS, Pods};
use crate::proxies::{Proxy, Running, Site, Wire};
use crate::table::{Cell, Judged, Table};

/// What is asked over connections that are kept.
struct Kept {
    name: &'static str,
    wire: Wire,
    /// What tells h2load about the protocol, and how many requests are under way on each connection.
    args: &'static [&'static str],
}

const KEPT: [Kept; 3] = [
    Kept {
        name: "HTTP/1.1 over TLS: pinned, 1 KiB, 32 connections that are kept",
        wire: Wire::Tls,
        args: &["--h1", "-c32", "-m1"],
    },
    Kept {
        name: "HTTP/2 over TLS: pinned, 1 KiB, 8 connections of 8 streams",
        wire: Wire::Tls,
        args: &["-c8", "-m8"],
    },
    Kept {
        name: "HTTP/2 without TLS: pinned, 1 KiB, 8 connections of 8 streams",
        wire: Wire::H2c,
        args: &["-c8", "-m8"],
    },
];

const HANDSHAKES: [(&str, Handshake); 2] = [
    (
        "handshake: pinned, each request on a new connection over TLS 1.3",
        Handshake::Full,
    ),
    (
        "resumed: the same by clients that come back with a ticket",
        Handshake::Resumed,
    ),
];

/// How many requests h2load sends for each second that is asked for.
const REQUESTS: u64 = 20_000;

/// A proxy twice, once with TLS, and a client of its second group.
struct Subject {
    tls: Running,
    h2c: Running,
    client: Client,
}

/// Compares all proxies; the faults of all answers.
pub(crate) fn compare(proxies: &[Proxy], rounds: usize, span: Duration) -> Faults {
    let (pods, certificate) = (Pods::start(), Pair::until_the_end_of(2099));
    let site = Site {
        pods: &pods,
        certificate: &certificate,
        threads: 1,
    };
    let subjects: Vec<Subject> = proxies.iter().map(|proxy| subject(proxy, site)).collect();
    let mut tables: Vec<Table> = KEPT
        .iter()
        .map(|kept| Table::new(kept.name, Judged::Cpu))
        .collect();
    tables.extend(HANDSHAKES.map(|(name, _)| Table::new(name, Judged::Cpu)));
    let mut faults = Faults::default();
    for _ in 0..rounds {
        let (kept, shaken) = tables.split_at_mut(KEPT.len());
        for (kept, table) in KEPT.iter().zip(kept) {
            table.round(
                subjects
                    .iter()
                    .map(|subject| ask(kept, subject, &pods, span))
                    .collect(),
            );
        }
        for ((_, handshake), table) in HANDSHAKES.iter().zip(shaken) {
            let cells = subjects.iter().map(|subject| {
                handshakes::measure(
                    *handshake,
                    &subject.tls,
                    &subject.client,
                    &certificate,
                    span,
                )
            });
            table.round(cells.collect());
        }
    }
    let names: Vec<&str> = subjects.iter().map(|subject| subject.tls.name).collect();
    for table in &tables {
        faults += table.faults();
        table.print(&names);
    }
    faults
}

fn subject(proxy: &Proxy, site: Site<'_>) -> Subject {
    let [plain, tls, h2c] = [Wire::Plain, Wire::Tls, Wire::H2c].map(|wire| proxy.start(wire, site));
    let clients = pins::gather(plain.address);
    let client = clients.into_iter().find(|client| client.group == Some(1));
    drop(plain);
    Subject {
        tls,
        h2c,
        client: client.expect("clients of both groups"),
    }
}

/// What kept connections cost a proxy.
fn ask(kept: &Kept, subject: &Subject, pods: &Pods, span: Duration) -> Cell {
    let (proxy, scheme) = match kept.wire {
        Wire::Tls => (&subject.tls, "https"),
        Wire::Plain | Wire::H2c => (&subject.h2c, "http"),
    };
    let requests = (span.as_secs_f64() * REQUESTS as f64) as u64;
    let pin = subject.client.pin.as_deref().unwrap_or_default();
    let mut command = Command::new("h2load");
    command
        .args(kept.args)
        .args([
            "-t1",
            &format!("-n{requests}"),
            "-H",
            &format!("cookie: theme=dark; {pin}"),
        ])
        .arg(format!("{scheme}://{}/", proxy.address))
        .stdin(Stdio::null());
    let (served, before, start) = (pods.answered(), proxy.cpu(), Instant::now());
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("h2load (Debian: nghttp2-client): {e}"));
    let (took, spent) = (start.elapsed(), proxy.cpu() - before);
    let said = String::from_utf8_lossy(&output.stdout);
    // status codes: 40000 2xx, 0 3xx, 0 4xx, 0 5xx
    let good = said
        .lines()
        .find_map(|line| line.strip_prefix("status codes: ")?.split_once(" 2xx"));
    let good: u64 = good
        .and_then(|(number, _)| number.parse().ok())
        .unwrap_or(0);
    let group = subject.client.group.unwrap_or(0);
    let right = pods.answered()[group] - served[group];
    let faults = Faults {
        status: requests - good,
        group: requests.saturating_sub(right),
        ..Faults::default()
    };
    assert!(
        good > 0,
        "{} answers nothing to h2load, of group {}: {said}",
        proxy.name,
        GROUPS[group]
    );
    Cell {
        cpu: spent.as_secs_f64() * 1e6 / good as f64,
        rate: good as f64 / took.as_secs_f64(),
        latencies: None,
        faults,
    }
}
