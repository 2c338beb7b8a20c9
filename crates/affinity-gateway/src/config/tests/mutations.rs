//! Ten thousand wrong files: no panic, no half-right settings, one readable line for each.

use std::path::Path;

use tower_affinity_testing::mutate;

use super::{DIR, EXAMPLE, env, invariants};
use crate::config::parse;

/// The example with what it leaves out: more states, kinds of keys and a list of dropped ones.
fn base() -> String {
    let more = r#"
[[group]]
name = "old-1"
state = "draining"
endpoints = ["127.0.0.1:7011"]
[[group]]
name = "sha256:00ff"
state = "aborted"
abort_to = "9f1c2ab"
[[group]]
name = "next"
state = "staged"
endpoints = ["[::1]:7012"]
[[scope]]
path = "/api/*"
assign = "header:x-user-id"
on_gone = "strict"
[[scope]]"#;
    EXAMPLE
        .replacen("\n[[scope]]", more, 1)
        .replace(
            "[upstream]",
            "[upstream]\nslow_start = \"5s\"\nejection = { failures = 3, base = \"1s\", max = \"9s\" }\nretries = { max = 1, budget_percent = 10, budget_floor = 0, max_body = 8 }",
        )
        .replace("clock_skew", "drop_early = [\"2025-01\"]\nclock_skew")
}

fn known(name: &str) -> Option<String> {
    // a mutated name is a variable that is not set
    name.starts_with("AFFINITY_KEY_2026")
        .then(|| env(name))
        .flatten()
}

#[test]
fn mutated_files_are_refused_in_one_line_or_hold_every_rule() {
    let base = base();
    let read = |text: &str| parse(text, Path::new(DIR), &known);
    read(&base).expect("the base is right");
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..10_000 {
        let text = mutate(seed, &base);
        match read(&text) {
            Ok(settings) => {
                accepted += 1;
                invariants::check(&settings);
                let again = read(&settings.effective());
                assert_eq!(
                    again.as_ref(),
                    Ok(&settings),
                    "seed {seed} does not round-trip"
                );
            }
            Err(error) => {
                refused += 1;
                let shown = error.to_string();
                assert!(
                    shown.chars().count() <= 1_000,
                    "seed {seed}: {} long",
                    shown.len()
                );
                assert!(!shown.contains(char::is_control), "seed {seed}: {shown:?}");
                let placed = error.key_path().is_some() || error.line().is_some();
                assert!(placed, "seed {seed} names neither key nor line: {shown}");
            }
        }
    }
    // a mutator that breaks nothing, or everything, would show nothing
    assert!(
        accepted > 500 && refused > 5_000,
        "{accepted} accepted, {refused} refused"
    );
}
