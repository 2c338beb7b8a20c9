//! The report as people read it: the steps, the groups in each step, and a chart.

use std::time::Duration;

use affinity_gateway::simulate::{
    AbortReport, Drain, GateReport, GroupReport, Report, StepReport, lines,
};

use crate::output::aligned;

/// The whole report.
pub(super) fn of(report: &Report) -> String {
    let head = format!(
        "{} sessions, seed {}, {} new a second",
        report.sessions, report.seed, report.arrivals_per_second
    );
    let judged = judged(report);
    let doubts = report.doubts.iter().map(|doubt| format!("beware: {doubt}"));
    let stopped = report
        .stopped
        .map(|step| format!("the plan ended with step {step}: its gate was not passed"));
    let mut parts = vec![head, aligned(&steps(report))];
    parts.extend((judged.len() > 1).then(|| aligned(&judged)));
    parts.extend(stopped);
    parts.extend(doubts);
    parts.extend([aligned(&groups(report)), chart(report)]);
    parts.join("\n\n")
}

/// What the gates saw of each canary. Differences are in points, canary minus stable.
fn judged(report: &Report) -> Vec<[String; 8]> {
    let head = [
        "STEP",
        "CANARY",
        "SESSIONS",
        "FAILED",
        "DIFFERENCE",
        "BETWEEN",
        "VERDICT",
        "ALL REQUESTS",
    ];
    let rows = report.steps.iter().flat_map(|step| {
        let canaries = step.gate.iter().flat_map(|gate| &gate.canaries);
        canaries.map(|canary| {
            [
                step.step.to_string(),
                canary.group.clone(),
                canary.sessions.to_string(),
                canary.failed.to_string(),
                points(canary.difference),
                format!("{} {}", points(canary.lower), points(canary.upper)),
                canary.verdict.replace('_', " "),
                points(canary.naive),
            ]
        })
    });
    [head.map(str::to_owned)].into_iter().chain(rows).collect()
}

fn points(difference: f64) -> String {
    format!("{:+.2}", difference * 100.0)
}

fn asked(gate: &GateReport) -> String {
    let verdict = gate.verdict.replace('_', " ");
    format!("{verdict} after {}", span(gate.after_secs))
}

fn steps(report: &Report) -> Vec<[String; 5]> {
    let head = ["STEP", "FROM", "LASTS", "CHANGE", "GATE"].map(str::to_owned);
    let row = |step: &StepReport| {
        let from = match step.from_secs < 0.0 {
            true => format!("-{}", span(-step.from_secs)),
            false => span(step.from_secs),
        };
        let nothing = if step.step == 0 {
            "before the plan"
        } else {
            "nothing"
        };
        let gate = step.gate_taken_as_passed;
        [
            step.step.to_string(),
            from,
            span(step.lasts_secs),
            step.change.as_deref().unwrap_or(nothing).to_owned(),
            match &step.gate {
                Some(gate) => asked(gate),
                None => gate.map_or(String::new(), |gate| format!("{gate}: taken as passed")),
            },
        ]
    };
    [head]
        .into_iter()
        .chain(report.steps.iter().map(row))
        .collect()
}

fn groups(report: &Report) -> Vec<[String; 14]> {
    let head = [
        "STEP",
        "GROUP",
        "STATE",
        "SHARE",
        "NEW",
        "IN ALL",
        "NEW/S",
        "PINNED",
        "PEAK",
        "PINNED/S",
        "NEEDS/S",
        "ENDPOINTS",
        "DRAINED",
        "AN ABORT",
    ];
    let rows = report.steps.iter().flat_map(|step| {
        let groups = step.groups.iter();
        groups.map(|group| row(step.step, group))
    });
    [head.map(str::to_owned)].into_iter().chain(rows).collect()
}

fn row(step: usize, group: &GroupReport) -> [String; 14] {
    let endpoints = match group.endpoints_required {
        Some(needed) => format!("{needed} of {}", group.endpoints),
        None => format!("- of {}", group.endpoints),
    };
    [
        step.to_string(),
        group.group.clone(),
        group.state.to_owned(),
        format!("{:.2}%", group.share * 100.0),
        group.assigned.to_string(),
        group.assigned_in_all.to_string(),
        format!("{:.2}", group.new_per_second),
        group.pinned.to_string(),
        group.pinned_peak.to_string(),
        format!("{:.2}", group.pinned_per_second),
        format!("{:.2}", group.required_per_second),
        endpoints,
        group.drain.as_ref().map_or_else(|| "-".to_owned(), drain),
        group.abort.as_ref().map_or_else(|| "-".to_owned(), abort),
    ]
}

fn drain(drain: &Drain) -> String {
    let done = if drain.done { ", done" } else { "" };
    format!("after {}{done}", span(drain.takes_secs))
}

fn abort(abort: &AbortReport) -> String {
    match abort {
        AbortReport::Refused { why } => format!("is refused: {why}"),
        AbortReport::Possible {
            moves, ends, to, ..
        } => match (to, ends) {
            (Some(to), 0) => format!("moves {moves} to {to}"),
            (Some(to), ends) => format!("moves {moves} to {to}, ends {ends}"),
            (None, 0) => "moves nobody".to_owned(),
            (None, ends) => format!("ends {ends}"),
        },
        _ => "unknown".to_owned(),
    }
}

fn chart(report: &Report) -> String {
    let peak = |group| {
        report
            .samples
            .iter()
            .filter_map(|at| at.live.get(group))
            .max()
    };
    let rows = lines(report, COLUMNS).into_iter().enumerate();
    let rows = rows.map(|(group, (name, blocks))| {
        let peak = peak(group).copied().unwrap_or_default();
        // a bar on either side shows where the time begins and ends
        [name, format!("│{blocks}│"), format!("at most {peak}")]
    });
    let end = report.samples.last().map_or(0.0, |sample| sample.at);
    format!(
        "live sessions over {}\n{}",
        span(end),
        aligned(&rows.collect::<Vec<_>>())
    )
}

/// A span to the second: what is shorter is noise here.
fn span(secs: f64) -> String {
    humantime::format_duration(Duration::from_secs(secs.round() as u64)).to_string()
}

const COLUMNS: usize = 72;
