//! `gateway rollout analyze`: what is known of the canaries, and a gate that a pipeline stands on.

use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Deserialize;

use super::verb::span;
use crate::{
    admin::{Admin, Answer, Call},
    exit::{Exit, Failure},
    output::{aligned, printable},
};

#[derive(Args, Debug)]
pub(super) struct Analyze {
    /// Wait until each canary is that: exit code 0, 4 as soon as one is worse, 3 after the timeout
    #[arg(long, value_enum)]
    gate: Option<Gate>,
    /// How long the gate waits at most, such as 30m [default: as long as it takes]
    #[arg(long, value_name = "DUR", value_parser = span, requires = "gate")]
    timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Gate {
    /// Not worse by the smallest effect that matters, or better
    NoWorse,
    /// Better
    Better,
}

/// What the admin side says of all canaries.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct AnalysisView {
    step_revision: u64,
    since: Option<u64>,
    now: u64,
    min_effect: f64,
    alpha: f64,
    measures: Vec<String>,
    stable: StableView,
    canaries: Vec<CanaryView>,
    #[serde(default)]
    auth_bursts: Vec<AuthBurstView>,
}

#[derive(Clone, Debug, Deserialize)]
struct AuthBurstView {
    group: String,
    from: Option<String>,
    cause: Option<String>,
    answers: u64,
    failed: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct StableView {
    group: String,
    counts: CountsView,
}

#[derive(Clone, Debug, Deserialize)]
struct CountsView {
    sessions: u64,
    requests: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct CanaryView {
    group: String,
    counts: CountsView,
    verdict: String,
    needed: Option<u64>,
    failures: MeasuredView,
    completions: MeasuredView,
    slow: MeasuredView,
    naive: NaiveView,
}

/// Rates are parts of one, differences canary minus stable.
#[derive(Clone, Debug, Deserialize)]
struct MeasuredView {
    canary: Option<f64>,
    stable: Option<f64>,
    difference: Option<f64>,
    lower: f64,
    upper: f64,
    verdict: String,
    needed: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
struct NaiveView {
    canary: Option<f64>,
    stable: Option<f64>,
    difference: Option<f64>,
    off: Option<f64>,
}

impl Analyze {
    /// What is printed; with a gate once that holds.
    pub(super) fn run(&self, admin: &Admin, json: bool) -> Result<String, Failure> {
        let call = Call::get("/v1/analysis");
        let answer = match self.gate {
            None => admin.ask(&call)?,
            Some(gate) => self.wait(admin, &call, gate)?,
        };
        match json {
            true => Ok(answer.text().to_owned()),
            false => Ok(table(&answer.read()?)),
        }
    }

    fn wait(&self, admin: &Admin, call: &Call, gate: Gate) -> Result<Answer, Failure> {
        let mut last = None;
        let held = admin.ask_until(call, self.timeout, |answer| {
            let view: AnalysisView = answer.read()?;
            let holds = view.holds(gate)?;
            last = Some(view.lines().join("; "));
            Ok(holds.then(|| answer.clone()))
        })?;
        held.ok_or_else(|| {
            let last = last.unwrap_or_else(|| "no answer came".to_owned());
            Failure::new(Exit::TimedOut, "timed-out", format!("the gate: {last}"))
        })
    }
}

impl AnalysisView {
    /// Whether the gate holds, or why it never will.
    fn holds(&self, gate: Gate) -> Result<bool, Failure> {
        if self.canaries.is_empty() {
            let detail = "there is no canary: no group beside the stable one has weight";
            return Err(Failure::new(Exit::Refused, "no-canary", detail)
                .advice("give one some: gateway rollout weights GROUP=N"));
        }
        if self.canaries.iter().any(|canary| canary.verdict == "worse") {
            return Err(Failure::new(
                Exit::Refused,
                "worse",
                self.lines().join("; "),
            ));
        }
        let accepted: &[&str] = match gate {
            Gate::NoWorse => &["no_worse", "better"],
            Gate::Better => &["better"],
        };
        let mut canaries = self.canaries.iter();
        Ok(canaries.all(|canary| accepted.contains(&canary.verdict.as_str())))
    }

    /// A line for each canary.
    fn lines(&self) -> Vec<String> {
        let stable = &self.stable.group;
        let lines = self.canaries.iter().map(|canary| {
            let CanaryView {
                group,
                verdict,
                needed,
                failures,
                ..
            } = canary;
            let between = failures.between();
            let text = match (verdict.as_str(), needed) {
                ("better", _) => format!("{group} is better than {stable}"),
                ("no_worse", _) => format!("{group} is no worse than {stable}"),
                ("worse", _) => format!("{group} is worse than {stable}"),
                (_, None) => format!("{group}: no session yet"),
                (_, Some(needed)) => {
                    format!("{group}: not enough yet, about {needed} more sessions are needed")
                }
            };
            printable(&format!("{text} (failures {between} points)"))
        });
        lines.collect()
    }
}

impl MeasuredView {
    fn between(&self) -> String {
        format!("{} to {}", points(self.lower), points(self.upper))
    }
}

impl AuthBurstView {
    fn line(&self) -> String {
        let known = |what: &Option<String>| what.as_deref().unwrap_or("unknown").to_owned();
        let (from, cause) = (known(&self.from), known(&self.cause));
        printable(&format!(
            "sessions that came to {} from {from} ({cause}) are asked to sign in: {} of {} answers",
            self.group, self.failed, self.answers,
        ))
    }
}

/// The step, the rows of each canary, and the verdicts; then whose sessions are asked to sign in.
pub(super) fn table(view: &AnalysisView) -> String {
    let bursts = view.auth_bursts.iter().map(AuthBurstView::line);
    let blocks: Vec<_> = std::iter::once(verdicts(view)).chain(bursts).collect();
    blocks.join("\n")
}

fn verdicts(view: &AnalysisView) -> String {
    let stable = &view.stable;
    let since = match view.since {
        Some(since) => {
            let span = Duration::from_secs(view.now.saturating_sub(since));
            format!("counted for {}", humantime::format_duration(span))
        }
        None => "nothing counted yet".to_owned(),
    };
    let terms = format!(
        "step {}, {since}; smallest effect {}, alpha {}, on {}",
        view.step_revision,
        view.min_effect,
        view.alpha,
        view.measures.join(", "),
    );
    let stable = format!(
        "stable {}: {} sessions, {} requests",
        stable.group, stable.counts.sessions, stable.counts.requests,
    );
    let head = format!("{}\n{}", printable(&terms), printable(&stable));
    if view.canaries.is_empty() {
        return format!("{head}\nno canary: no group beside the stable one has weight");
    }
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(view.canaries.iter().flat_map(rows_of));
    format!(
        "{head}\n\n{}\n\n{}",
        aligned(&rows),
        view.lines().join("\n")
    )
}

const COLUMNS: [&str; 9] = [
    "CANARY",
    "SESSIONS",
    "MEASURE",
    "CANARY %",
    "STABLE %",
    "DIFFERENCE",
    "BETWEEN",
    "VERDICT",
    "NEEDED",
];

fn rows_of(canary: &CanaryView) -> Vec<[String; 9]> {
    let measures = [
        ("failures", &canary.failures),
        ("completions", &canary.completions),
        ("slow", &canary.slow),
    ];
    let mut rows: Vec<_> = measures
        .into_iter()
        .map(|(name, measured)| {
            [
                printable(&canary.group),
                canary.counts.sessions.to_string(),
                name.to_owned(),
                percent(measured.canary),
                percent(measured.stable),
                measured.difference.map_or_else(nothing, points),
                measured.between(),
                printable(&measured.verdict.replace('_', " ")),
                measured
                    .needed
                    .map_or_else(nothing, |needed| needed.to_string()),
            ]
        })
        .collect();
    let naive = &canary.naive;
    let off = naive
        .off
        .map_or_else(nothing, |off| format!("naive: off by {}", points(off)));
    rows.push([
        printable(&canary.group),
        "-".to_owned(),
        "all requests".to_owned(),
        percent(naive.canary),
        percent(naive.stable),
        naive.difference.map_or_else(nothing, points),
        "-".to_owned(),
        off,
        "-".to_owned(),
    ]);
    rows
}

fn nothing() -> String {
    "-".to_owned()
}

fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(nothing, |rate| format!("{:.2}", rate * 100.0))
}

fn points(difference: f64) -> String {
    format!("{:+.2}", difference * 100.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::{Value, json};

    use super::*;

    fn measured(verdict: &str) -> Value {
        json!({
            "canary": 0.031, "stable": 0.01, "difference": 0.021, "lower": 0.009, "upper": 0.034,
            "verdict": verdict, "needed": 0
        })
    }

    fn view(verdicts: &[&str]) -> AnalysisView {
        let canaries = verdicts.iter().map(|verdict| {
            json!({
                "group": "c3d4e5f", "counts": { "sessions": 1204, "requests": 5000 }, "verdict": verdict,
                "needed": 77, "failures": measured(verdict), "completions": measured("no_worse"),
                "slow": measured("not_enough_yet"),
                "naive": { "canary": 0.02, "stable": 0.04, "difference": -0.02, "off": -0.041 }
            })
        });
        let text = json!({
            "step_revision": 7, "since": 100, "now": 160, "min_effect": 0.01, "alpha": 0.05,
            "measures": ["failures"],
            "stable": { "group": "9f1c2ab", "counts": { "sessions": 10981, "requests": 90000 } },
            "canaries": canaries.collect::<Vec<_>>()
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn a_gate_holds_fails_or_waits_by_the_verdicts() {
        for (verdicts, gate, expected) in [
            (&["no_worse"][..], Gate::NoWorse, Ok(true)),
            (&["better"], Gate::NoWorse, Ok(true)),
            (&["no_worse"], Gate::Better, Ok(false)),
            (&["better", "no_worse"], Gate::Better, Ok(false)),
            (&["not_enough_yet"], Gate::NoWorse, Ok(false)),
            (&["no_worse", "not_enough_yet"], Gate::NoWorse, Ok(false)),
            (&["no_worse", "worse"], Gate::NoWorse, Err("worse")),
            (&["worse"], Gate::Better, Err("worse")),
            (&[], Gate::NoWorse, Err("no-canary")),
        ] {
            let held = view(verdicts).holds(gate);
            match (held, expected) {
                (Ok(held), Ok(expected)) => assert_eq!(held, expected, "{verdicts:?} {gate:?}"),
                (Err(failure), Err(kind)) => {
                    assert_eq!(
                        (failure.exit, &*failure.problem.kind),
                        (Exit::Refused, kind)
                    );
                }
                (held, expected) => panic!("{verdicts:?} {gate:?}: {held:?} for {expected:?}"),
            }
        }
    }

    #[test]
    fn people_see_the_interval_the_verdict_and_how_far_the_naive_look_is_off() {
        let text = table(&view(&["worse"]));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[0],
            "step 7, counted for 1m; smallest effect 0.01, alpha 0.05, on failures"
        );
        assert_eq!(lines[1], "stable 9f1c2ab: 10981 sessions, 90000 requests");
        let row: Vec<_> = lines[4].split_whitespace().collect();
        assert_eq!(
            row,
            [
                "c3d4e5f", "1204", "failures", "3.10", "1.00", "+2.10", "+0.90", "to", "+3.40",
                "worse", "0"
            ]
        );
        assert!(lines[7].contains("off by -4.10"), "{text}");
        assert_eq!(
            *lines.last().unwrap(),
            "c3d4e5f is worse than 9f1c2ab (failures +0.90 to +3.40 points)"
        );
    }

    #[test]
    fn what_is_still_needed_is_told() {
        let text = view(&["not_enough_yet"]).lines().join("\n");
        assert!(text.contains("about 77 more sessions"), "{text}");
        let none = table(&view(&[]));
        assert!(
            none.ends_with("no group beside the stable one has weight"),
            "{none}"
        );
    }
}
