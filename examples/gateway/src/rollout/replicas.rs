//! `gateway rollout replicas` and `forget-replica`: who shares the rollout.

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::verb::Gone;
use crate::{
    admin::Call,
    output::{aligned, printable},
};

/// What the asked replica has heard of all. Times are seconds since the Unix epoch.
#[derive(Debug, Deserialize)]
pub(super) struct ReplicasView {
    asked: String,
    now: u64,
    problems: Vec<ProblemView>,
    replicas: Vec<ReplicaView>,
}

#[derive(Debug, Deserialize)]
struct ProblemView {
    what: String,
    unready: bool,
}

/// One replica; without a word if that cannot be read.
#[derive(Debug, Deserialize)]
struct ReplicaView {
    name: String,
    state: String,
    revision: Option<u64>,
    at: Option<u64>,
    admin: Option<String>,
    signing: Option<String>,
}

const COLUMNS: [&str; 7] = [
    "REPLICA", "STATE", "REVISION", "KEY", "CLOCK", "ADMIN", "NOTES",
];

impl Gone {
    pub(super) fn call(&self) -> Call {
        let path = format!("/v1/replicas/{}", self.replica);
        Call::change(Method::DELETE, &path, &json!({}))
    }

    pub(super) fn told(&self, left: &ReplicasView) -> String {
        format!("{} is forgotten\n{}", self.replica, table(left))
    }
}

/// A row for each replica, then a line for everything that is wrong with the asked one.
pub(super) fn table(view: &ReplicasView) -> String {
    if view.replicas.is_empty() {
        return "no replica was heard: this one is alone, or the shared state is out of reach"
            .to_owned();
    }
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(view.replicas.iter().map(|replica| replica.row(view)));
    let problems = view.problems.iter().map(|problem| {
        let grave = if problem.unready { " (not ready)" } else { "" };
        printable(&format!("{}{grave}: {}", view.asked, problem.what))
    });
    let parts: Vec<_> = std::iter::once(aligned(&rows)).chain(problems).collect();
    parts.join("\n")
}

impl ReplicaView {
    fn row(&self, view: &ReplicasView) -> [String; 7] {
        let text = |text: &Option<String>| printable(text.as_deref().unwrap_or("-"));
        let asked = if self.name == view.asked { "asked" } else { "" };
        [
            printable(&self.name),
            printable(&self.state),
            self.revision
                .map_or_else(|| "-".to_owned(), |revision| revision.to_string()),
            text(&self.signing),
            self.at
                .map_or_else(|| "-".to_owned(), |at| clock(at, view.now)),
            text(&self.admin),
            asked.to_owned(),
        ]
    }
}

/// When it said its word, by its own clock, as the asked one's clock has it.
fn clock(at: u64, now: u64) -> String {
    match at.checked_sub(now) {
        None => format!("{}s ago", now - at),
        Some(0) => "now".to_owned(),
        Some(ahead) => format!("{ahead}s ahead"),
    }
}
