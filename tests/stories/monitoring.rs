//! What a fleet is watched by: the rules for Prometheus and the dashboard for Grafana, by the tools
//! and the pages that know better.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use affinity_tests::Scratch;
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../docs/metrics.md");
const RULES: &str = include_str!("../../docs/monitoring/rules.yml");
const DASHBOARD: &str = include_str!("../../docs/monitoring/grafana.json");

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/monitoring")
}

/// Runs `promtool`; `false` if there is none here, which is said.
fn promtool(args: &[&str], dir: &Path) -> bool {
    let ran = Command::new("promtool")
        .args(args)
        .current_dir(dir)
        .output();
    let output = match ran {
        Ok(output) => output,
        Err(error) => {
            let required = std::env::var_os("AFFINITY_REQUIRE_SERVICES").is_some();
            assert!(!required, "AFFINITY_REQUIRE_SERVICES: promtool: {error}");
            skipped(&error);
            return false;
        }
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success(), "promtool {args:?}: {text}");
    true
}

#[allow(clippy::print_stderr)] // a test that did not run has to be seen
fn skipped(error: &std::io::Error) {
    eprintln!("skipped: promtool: {error}");
}

/// The queries of the dashboard, with its variables filled in.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("the dashboard is JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array());
    let notes = dashboard["annotations"]["list"].as_array().expect("a list");
    let queries = targets.flatten().chain(notes);
    let queries = queries.map(|query| query["expr"].as_str().expect("a query"));
    let queries = queries.map(|query| {
        let query = query.replace("$job", "checkout");
        query.replace("$__rate_interval", "1m")
    });
    queries.collect()
}

/// The words of `text` that begin like a name of ours and go on with letters.
fn names(text: &str) -> BTreeSet<&str> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !part(c));
    words.filter(|word| word.starts_with("affinity_")).collect()
}

fn alerts() -> BTreeSet<&'static str> {
    let lines = RULES.lines();
    let names = lines.filter_map(|line| line.trim().strip_prefix("- alert: "));
    names.collect()
}

#[test]
fn the_rules_hold_in_their_unit_tests() {
    if promtool(&["check", "rules", "rules.yml"], &directory()) {
        promtool(&["test", "rules", "rules-test.yml"], &directory());
    }
}

#[test]
fn each_alert_is_tested_when_it_is_raised_and_when_it_is_not() {
    let tests = include_str!("../../docs/monitoring/rules-test.yml");
    for alert in alerts() {
        for word in ["raised", "quiet"] {
            let name = format!("- name: \"{alert} is {word}\"");
            assert!(tests.contains(&name), "no test: {name}");
        }
    }
}

#[test]
fn the_queries_of_the_dashboard_are_understood() {
    let queries = queries();
    assert!(queries.len() > 15, "{queries:?}");
    let rules = queries.iter().enumerate();
    let rules = rules.map(|(nth, query)| json!({"record": format!("query{nth}"), "expr": query}));
    let rules: Vec<_> = rules.collect();
    let file = json!({"groups": [{"name": "queries", "rules": rules}]});
    // JSON is YAML
    let dir = Scratch::new();
    dir.write("queries.yml", file.to_string());
    promtool(&["check", "rules", "queries.yml"], dir.path());
}

#[test]
fn they_speak_of_metrics_that_there_are() {
    let queries = queries().join("\n");
    // a recorded series is named after the metric in its middle
    for name in names(RULES).union(&names(&queries)) {
        let counted = [
            *name,
            name.trim_end_matches("_bucket"),
            &format!("{name}_total"),
        ];
        let known = |name: &str| PAGE.contains(&format!("\n| `{name}` | "));
        let recorded = RULES.contains(&format!(":{name}:")) && !PAGE.contains(&format!("`{name}`"));
        assert!(
            recorded || counted.iter().any(|name| known(name)),
            "docs/metrics.md has no row of {name}"
        );
    }
}

#[test]
fn each_alert_has_a_row_that_says_why() {
    let (_, part) = PAGE
        .split_once("\n## What to be alarmed by\n")
        .expect("the part");
    let rows = part
        .lines()
        .filter_map(|line| line.strip_prefix("| `Affinity"));
    let rows = rows.filter_map(|row| row.split_once('`'));
    let rows: BTreeSet<_> = rows.map(|(name, _)| format!("Affinity{name}")).collect();
    let alerts: BTreeSet<_> = alerts().into_iter().map(str::to_owned).collect();
    assert_eq!(
        rows, alerts,
        "the rows of docs/metrics.md and the alerts of rules.yml"
    );
}
