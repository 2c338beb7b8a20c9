//! `gateway rollout facts`: the aborts that only the asked replica obeys.

use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::verb::{Facts, FactsVerb};
use crate::{
    admin::Call,
    output::{aligned, instant, printable},
};

/// What the admin side says of them. Times are seconds since the Unix epoch.
#[derive(Debug, Deserialize)]
pub(super) struct FactsView {
    facts: Vec<FactView>,
}

#[derive(Debug, Deserialize)]
struct FactView {
    group: String,
    target: String,
    policy: String,
    until: Option<u64>,
    at: u64,
    kind: String,
}

const COLUMNS: [&str; 6] = ["GROUP", "TARGET", "POLICY", "SINCE", "KIND", "WHAT TO DO"];

impl Facts {
    /// What is asked of the admin side; the answer is a [`FactsView`] either way.
    pub(super) fn call(&self) -> Call {
        match &self.verb {
            None => Call::get("/v1/facts"),
            Some(FactsVerb::Drop(dropped)) => {
                let path = format!("/v1/facts/{}", dropped.group);
                Call::change(Method::DELETE, &path, &json!({}))
            }
        }
    }

    pub(super) fn told(&self, left: &FactsView) -> String {
        match &self.verb {
            None => table(left),
            Some(FactsVerb::Drop(dropped)) => {
                let group = &dropped.group;
                format!("the abort of {group} is dropped here\n{}", table(left))
            }
        }
    }
}

/// A row for each abort, or that there is none.
fn table(view: &FactsView) -> String {
    if view.facts.is_empty() {
        return "no facts: whatever is aborted here is aborted in the shared state".to_owned();
    }
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(view.facts.iter().map(FactView::row));
    aligned(&rows)
}

impl FactView {
    fn row(&self) -> [String; 6] {
        let policy = match self.until {
            Some(until) => format!("{} until {}", self.policy, instant(until)),
            None => self.policy.clone(),
        };
        [
            printable(&self.group),
            printable(&self.target),
            printable(&policy),
            instant(self.at),
            printable(&self.kind),
            printable(&self.remedy()),
        ]
    }

    /// Nobody but a human can settle a conflict: the group was changed after it was aborted here.
    fn remedy(&self) -> String {
        let group = &self.group;
        match self.kind.as_str() {
            "conflict" => format!("confirm: rollout abort {group}; or: rollout facts drop {group}"),
            _ => "nothing: the shared state takes it up once it is in reach".to_owned(),
        }
    }
}
