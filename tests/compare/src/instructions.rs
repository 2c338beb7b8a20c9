//! The instructions that one request costs the whole gateway, under callgrind: those of the kernel are
//! not among them, and times of the machine do not matter.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use affinity_tests::tls::Pair;

use crate::load::{self, Client, Faults, Load};
use crate::pins;
use crate::pods::Pods;
use crate::proxies::{Proxy, Running, Site, Wire};

/// One connection, so that every request meets the same: what many bring is taken in bundles, by how
/// busy the machine is.
const LOAD: Load = Load {
    connections: 1,
    path: "/",
    closes: false,
    rate: None,
    warm: Duration::from_secs(2),
    span: Duration::from_secs(4),
};

/// Where callgrind writes, in the directory of the gateway.
const FILE: &str = "instructions";

/// Counts for a pinned and for a new request; the faults of all answers.
pub(crate) fn count(gateway: PathBuf) -> Faults {
    let (pods, certificate) = (Pods::start(), Pair::until_the_end_of(2099));
    let site = Site {
        pods: &pods,
        threads: 1,
        certificate: &certificate,
    };
    let out = format!("--callgrind-out-file={FILE}");
    let gateway =
        Proxy::Ours(gateway).start_by(&["valgrind", "--tool=callgrind", &out], Wire::Plain, site);
    let pinned = pins::gather(gateway.address);
    println!("| request | instructions | of them in SHA-256, by software |\n| --- | ---: | ---: |");
    let mut faults = Faults::default();
    for (nth, (name, clients)) in [("pinned", pinned), ("new", vec![Client::NEW])]
        .iter()
        .enumerate()
    {
        let outcome = load::run(&LOAD, gateway.address, clients, || dump(&gateway));
        dump(&gateway);
        // each load writes what was before, and then itself
        let [all, hashes] = read(&gateway, 2 * nth + 2);
        let each = |sum: u64| sum / outcome.answers;
        println!("| {name} | {} | {} |", each(all), each(hashes));
        faults += outcome.faults;
    }
    faults
}

/// Has callgrind write what it has counted, and begin anew.
fn dump(gateway: &Running) {
    let mut command = Command::new("callgrind_control");
    command.args(["--dump", &gateway.id().to_string()]);
    said_by(command);
}

/// What was written as the `nth`: all instructions, and those of hashes.
fn read(gateway: &Running, nth: usize) -> [u64; 2] {
    let mut command = Command::new("callgrind_annotate");
    command
        .arg("--threshold=100")
        .arg(gateway.dir().join(format!("{FILE}.{nth}")));
    let table = said_by(command);
    let sum = |of: fn(&str) -> bool| {
        table
            .lines()
            .filter(|line| of(line))
            .filter_map(number)
            .sum()
    };
    [
        sum(|line| line.ends_with("PROGRAM TOTALS")),
        sum(|line| line.contains("sha2::sha256::")),
    ]
}

fn said_by(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|e| panic!("{command:?} (Debian: valgrind): {e}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {complaint}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The number that a line begins with: `20,112,000 (34.06%)  …`.
fn number(line: &str) -> Option<u64> {
    let (digits, _) = line.trim_start().split_once(' ')?;
    digits.replace(',', "").parse().ok()
}
