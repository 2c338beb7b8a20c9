//! Plans that are played: what an operator reads off a report has to be what the rule does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::path::Path;

use super::{AbortReport, GroupReport, Plan, PlanError, Report, StepReport, simulate};
use crate::config::{Settings, parse};

mod aborts;
mod drains;
mod gates;
mod loads;
mod requests;
mod seeds;
mod wrong;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

/// Two groups, the second one staged, and whole sections besides.
fn settings(sections: &str) -> Settings {
    let text = format!(
        "service = \"checkout\"\n[pin]\nkeys = [\"k1:env:KEY\"]\nidle_ttl = \"20m\"\n\
         [[group]]\nname = \"{OLD}\"\nweight = 10\nstable = true\n\
         endpoints = [\"127.0.0.1:7001\", \"127.0.0.1:7002\"]\n\
         [[group]]\nname = \"{NEW}\"\nstate = \"staged\"\nendpoints = [\"127.0.0.1:7003\"]\n\
         {sections}"
    );
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
    let env = |name: &str| (name == "KEY").then(|| key.to_owned());
    parse(&text, Path::new("/"), &env).unwrap()
}

/// Sessions of 10 minutes that ask every 10 seconds, 10 new ones a second.
const STEADY: &str = "[traffic]\narrivals_per_second = 10\n\
    length = { distribution = \"fixed\", mean = \"10m\" }\n\
    think = { distribution = \"fixed\", mean = \"10s\" }\n";

/// Sessions that may end and ask at any time.
const MEMORYLESS: &str = "[traffic]\narrivals_per_second = 10\n\
    length = { distribution = \"exponential\", mean = \"10m\" }\n\
    think = { distribution = \"exponential\", mean = \"10s\" }\n";

fn plan(settings: &Settings, text: &str) -> Plan {
    Plan::parse(text, settings).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn play_with(settings: &Settings, traffic: &str, steps: &str) -> Report {
    let plan = plan(settings, &format!("{traffic}{steps}"));
    simulate(settings, &plan, 1).unwrap()
}

fn play(traffic: &str, steps: &str) -> Report {
    play_with(&settings(""), traffic, steps)
}

fn refusal(steps: &str) -> PlanError {
    let settings = settings("");
    let plan = plan(&settings, &format!("{STEADY}{steps}"));
    simulate(&settings, &plan, 1).unwrap_err()
}

impl StepReport {
    fn group(&self, name: &str) -> &GroupReport {
        self.groups
            .iter()
            .find(|group| group.group == name)
            .unwrap()
    }
}

impl Report {
    fn group(&self, step: usize, name: &str) -> &GroupReport {
        self.steps[step].group(name)
    }
}

/// Within 3.3 deviations of a binomial count.
fn assert_binomial(count: u64, of: u64, share: f64) {
    let (count, of) = (count as f64, of as f64);
    let bound = 3.3 * (of * share * (1.0 - share)).sqrt();
    let off = (count - of * share).abs();
    assert!(off <= bound, "{count} of {of} are {off} off {share}");
}
