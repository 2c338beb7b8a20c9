//! The control plane from outside: what a verb or an edit does, and what survives a restart.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tower_affinity::balance::Groups;
use tower_affinity::core::{Clock, GroupName, Revision, Rollout, Timestamp, Weight};
use tower_affinity_testing::HandClock;

use super::{Changed, Control, ControlError, Held, Request, StoreError, Verb};
use crate::config::{Settings, parse};

mod drained;
mod drains;
mod edits;
mod fleet;
mod previews;
mod restarts;
mod sharing;
mod told;
mod verbs;

const START: u64 = 1_800_000_000;

/// A control plane with a clock that is moved by hand and a directory of its own.
struct Plane {
    control: Control,
    clock: HandClock,
    directory: tempfile::TempDir,
}

const TWO: &str = r#"
[[group]]
name = "aaa"
weight = 90
stable = true
endpoints = ["127.0.0.1:7001"]
[[group]]
name = "bbb"
weight = 10
endpoints = ["127.0.0.1:7002"]
"#;

fn settings(groups: &str, directory: &Path) -> Settings {
    let keys = "service = \"checkout\"\n[pin]\nkeys = [\"k1:env:K1\"]\n";
    with_keys(keys, groups, directory)
}

fn with_keys(head: &str, groups: &str, directory: &Path) -> Settings {
    let secret = |name: &str| match name {
        "K1" => Some("q2WOHk2oGXw7uJHXbmbTZ0k5ZpyVGtR0vpdSg1oVRnE".to_owned()),
        "K2" => Some("Zr0yV3pXc1kq8w7Tn4uB6sD9fG2hJ5mL0oPiUyTrEwQ".to_owned()),
        _ => None,
    };
    parse(&format!("{head}{groups}"), directory, &secret).expect("the settings are right")
}

impl Plane {
    fn start(groups: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = HandClock::at(Timestamp::from_secs(START));
        let control = open(&settings(groups, directory.path()), &clock).unwrap();
        Self {
            control,
            clock,
            directory,
        }
    }

    fn apply(&self, groups: &str) -> Result<Changed, ControlError> {
        self.control.apply(&settings(groups, self.directory.path()))
    }

    fn run(&self, verb: Verb) -> Result<Changed, ControlError> {
        self.control.change(&Request {
            who: "a test".to_owned(),
            if_match: None,
            verb,
        })
    }

    fn weights(&self, weights: &[(&str, u64)]) -> Result<Changed, ControlError> {
        let weight = |(group, weight): &(&str, u64)| (name(group), Weight::new(*weight).unwrap());
        self.run(Verb::Weights(weights.iter().map(weight).collect()))
    }

    /// Name, state and weight of every group, for comparison.
    fn shown(&self) -> Vec<(String, &'static str, u16)> {
        let rollout = self.control.rollouts().current();
        let groups = rollout.groups().iter();
        groups
            .map(|g| (g.name().to_string(), g.state().name(), g.weight().get()))
            .collect()
    }

    fn revision(&self) -> Revision {
        self.control.rollouts().current().revision()
    }
}

fn open(settings: &Settings, clock: &HandClock) -> Result<Control, ControlError> {
    let shared: Arc<dyn Clock> = Arc::new(clock.clone());
    let started = Control::start(settings, Groups::new(clock.clone()), shared)?;
    Ok(started.control)
}

fn name(text: &str) -> GroupName {
    text.parse().unwrap()
}
