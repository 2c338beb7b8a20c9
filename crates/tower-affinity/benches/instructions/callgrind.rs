//! Counts the instructions of one way.

use std::process::{Command, Stdio};

/// The word that tells the process which way to go.
pub(crate) const RUN: &str = "run";

/// The function whose instructions are collected, with all that it calls.
const COLLECTED: &str = "*paths::counted*";

/// How many instructions all calls take, in a process of their own. Those of SHA-256 are left out:
/// valgrind hides the instructions that processors have for it, so that it would be half of the count.
pub(crate) fn count(way: &str) -> u64 {
    let this = std::env::current_exe().unwrap();
    // it stays beside the binary, for whoever wants to know where they are
    let file = this.with_file_name(format!("instructions.{}.out", way.replace('/', "-")));
    let mut run = Command::new("valgrind");
    run.arg("--tool=callgrind")
        .arg(format!("--toggle-collect={COLLECTED}"))
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(this)
        .args([RUN, way]);
    said_by(run);
    let mut annotate = Command::new("callgrind_annotate");
    annotate.arg("--threshold=100").arg(file);
    let table = said_by(annotate);
    let of = |what: fn(&str) -> bool| -> u64 {
        table
            .lines()
            .filter(|line| what(line))
            .filter_map(number)
            .sum()
    };
    let total = of(|line| line.ends_with("PROGRAM TOTALS"));
    assert!(
        total > 0,
        "{COLLECTED} is never called on the way {way}: {table}"
    );
    total - of(|line| line.contains("sha2::sha256::"))
}

/// What a command prints.
fn said_by(mut command: Command) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // other variables would be in the memory of the process, and move its stack
    command.env_clear().env("PATH", path).stdin(Stdio::null());
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

/// The number that a line begins with: `20,112,000 (34.06%)  …`.
fn number(line: &str) -> Option<u64> {
    let (digits, _) = line.trim_start().split_once(' ')?;
    digits.replace(',', "").parse().ok()
}
