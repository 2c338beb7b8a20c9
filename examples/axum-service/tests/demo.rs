//! The demo as whoever tries it meets it: three processes, a rollout and an abort.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::process::Command;

use serde_json::Value;

#[test]
fn the_demo_breaks_no_session_in_the_rollout_and_moves_each_at_most_once() {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_axum-service"));
    // nothing of the environment has a say
    demo.args(["--demo", "--json"])
        .env_remove("AFFINITY_KEYS")
        .env_remove("AFFINITY_GROUPS")
        .env_remove("COMMIT");
    let output = demo.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}{told}");
    assert_eq!(said.lines().count(), 1, "more than one line: {said}");
    let counts: Value = serde_json::from_str(&said).unwrap();
    let count = |name: &str| counts[name].as_u64().expect(name);
    assert_eq!(count("broken_in_rollout"), 0, "{said}");
    assert_eq!(count("broken_after_abort"), 0, "{said}");
    assert_eq!(count("max_moves_per_session"), 1, "{said}");
    assert!(count("sessions") >= 200, "{said}");
    assert!(count("moved") > 0, "nobody was moved by the abort: {said}");
    assert_eq!(count("restarted_after_abort"), count("moved"), "{said}");
    assert!(count("forwarded") > 0, "{said}");
}
