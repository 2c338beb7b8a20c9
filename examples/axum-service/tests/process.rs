//! The program as an operator meets it: what it says at start, and how it stops.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const KEY: &str = "2026-11:q2WOHk2oGXw7uJHXbmbTZ0k5ZpyVGtR0vpdSg1oVRnE";

fn service() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_axum-service"));
    command
        .args(["--listen", "127.0.0.1:0"])
        .env_remove("AFFINITY_KEYS")
        .env_remove("COMMIT");
    command
}

#[test]
fn without_keys_it_says_how_to_make_one() {
    let output = service().args(["--groups", "9f1c2ab=1"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("AFFINITY_KEYS"), "{said}");
    assert!(said.contains("keys new"), "{said}");
}

#[test]
fn groups_that_make_no_rollout_are_refused() {
    for (groups, expected) in [
        ("9f1c2ab=0", "weights of all active groups are 0"),
        ("9f1c2ab=1,9f1c2ab=1", "9f1c2ab is given twice"),
        ("9f1c2ab", "COMMIT=WEIGHT"),
        ("9f1c2ab=10001", "0 to 10000"),
        ("none=1", "group name"),
    ] {
        let mut command = service();
        command.args(["--groups", groups]).env("AFFINITY_KEYS", KEY);
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{groups}: {said}");
        assert!(said.contains(expected), "{groups}: {said}");
    }
}

#[test]
fn it_says_where_it_listens_and_stops_when_told() {
    let mut command = service();
    command
        .args(["--groups", "9f1c2ab=90,c3d4e5f=10"])
        .env("AFFINITY_KEYS", KEY)
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut ready = String::new();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    said.read_line(&mut ready).unwrap();
    assert!(ready.starts_with("ready http://127.0.0.1:"), "{ready:?}");
    let pid = child.id().to_string();
    let told = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(told.success(), "no signal was sent");
    assert_eq!(
        child.wait().unwrap().code(),
        Some(0),
        "it did not end cleanly"
    );
}
