//! The plan: a file of steps, and of the traffic and the endpoints to play them on.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

use thiserror::Error;
use tower_affinity::core::{GroupName, Refusal};

use super::failures::Failures;
use super::step::{self, Gate, Step, unknown};
use super::traffic::Traffic;
use crate::config::{ConfigError, Section, Settings, in_words, read_text, text_of};

/// A rollout plan, checked against the configuration that it is for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The sessions that it is played on.
    pub traffic: Traffic,
    /// What the endpoints bear, where the plan says it.
    pub capacity: Option<Capacity>,
    /// Which sessions fail, where the plan says it.
    pub failures: Option<Failures>,
    /// The steps, 1 to 100.
    pub steps: Vec<Step>,
}

/// What the endpoints bear.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Capacity {
    /// Requests that one endpoint bears in a second.
    pub requests_per_second: f64,
    /// How many endpoints each group has; by default those of the configuration.
    pub endpoints: BTreeMap<GroupName, u64>,
}

/// Why a plan cannot be played.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// The file is wrong.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
    /// A rule forbids a step.
    #[error("step {step} ({turn}): {refusal}")]
    Refused {
        /// Which step, from 1.
        step: usize,
        /// Its change.
        turn: String,
        /// The rule, and what would be allowed.
        refusal: Refusal,
    },
    /// A step waits for a verdict, and there is no canary.
    #[error(
        "step {step}: gate = \"no_worse\" has nothing to judge: no group beside the stable one has \
         weight"
    )]
    NothingToJudge {
        /// Which step, from 1.
        step: usize,
    },
    /// A step waits for a group to drain, and none does.
    #[error(
        "step {step}: until = \"drained\" has nothing to wait for: no group drains; drain one, or \
         promote another"
    )]
    NothingDrains {
        /// Which step, from 1.
        step: usize,
    },
}

impl Plan {
    /// Reads and checks a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is longer than 1 MiB, or is no plan for these settings.
    pub fn load(path: &Path, settings: &Settings) -> Result<Self, ConfigError> {
        let text = text_of(path, "--plan")?;
        Self::parse(&text, settings).map_err(|error| error.file(path))
    }

    /// Parses and checks the text of a plan.
    ///
    /// # Errors
    ///
    /// The first mistake in the order of the lines, and how many more there are.
    pub fn parse(text: &str, settings: &Settings) -> Result<Self, ConfigError> {
        read_text(text, |root| read(root, settings))
    }

    /// What is doubtful in it: steps with a gate that are shorter than half of the sessions. Their
    /// sessions have hardly begun when they are judged, and what fails late is not seen.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        let usual = self.traffic.length.p50();
        let steps = (1..).zip(&self.steps);
        let short = steps.filter(|(_, step)| step.gate.is_some() && step.hold < usual);
        short
            .map(|(number, step)| {
                format!(
                    "step {number}: hold ({}) is shorter than half of the sessions ({}): what \
                     fails later is not judged",
                    in_words(step.hold),
                    in_words(usual)
                )
            })
            .collect()
    }
}

fn read(root: &Section<'_>, settings: &Settings) -> Option<Plan> {
    let groups: Vec<_> = settings
        .groups
        .iter()
        .map(|group| group.name.clone())
        .collect();
    let traffic = root.required("traffic", "a table [traffic]");
    let traffic = traffic.and_then(|field| Traffic::read(&field.section(), settings));
    let capacity = root.field("capacity");
    let capacity = capacity.map(|field| capacity_of(&field.section(), &groups));
    let failures = root.field("failures");
    let failures = failures.map(|field| Failures::read(&field.section(), &groups));
    let sections = root.sections("step", MAX_STEPS);
    if sections.is_empty() {
        root.missing("step", "at least one [[step]]");
    }
    let steps: Vec<_> = sections
        .iter()
        .filter_map(|section| step::read(section, &groups))
        .collect();
    let judges = |step: &Step| step.gate == Some(Gate::NoWorse);
    if failures.is_none() && steps.iter().any(judges) {
        root.missing(
            "failures",
            "a table [failures], since a gate asks which sessions fail",
        );
    }
    root.finish();
    let plan = Plan {
        traffic: traffic?,
        capacity: match capacity {
            Some(capacity) => Some(capacity?),
            None => None,
        },
        failures: match failures {
            Some(failures) => Some(failures?),
            None => None,
        },
        steps,
    };
    check_size(root, &plan);
    Some(plan)
}

fn capacity_of(capacity: &Section<'_>, groups: &[GroupName]) -> Option<Capacity> {
    let rate = capacity.required("requests_per_second", "requests that one endpoint bears");
    let rate = rate.and_then(|field| field.number(0.0, 1e9));
    let endpoints = capacity
        .field("endpoints")
        .map(|field| field.section().named());
    let mut counts = BTreeMap::new();
    for (name, field) in endpoints.into_iter().flatten() {
        match groups.iter().find(|group| group.as_str() == name) {
            Some(group) => {
                counts.extend(
                    field
                        .integer(&ENDPOINTS)
                        .map(|count| (group.clone(), count)),
                );
            }
            None => field.refuse(unknown(groups)),
        }
    }
    capacity.finish();
    Some(Capacity {
        requests_per_second: rate?,
        endpoints: counts,
    })
}

/// A plan with more sessions than anybody waits for is a mistake in its numbers.
fn check_size(root: &Section<'_>, plan: &Plan) {
    let holds: f64 = plan.steps.iter().map(|step| step.hold.as_secs_f64()).sum();
    let sessions = plan.traffic.arrivals_per_second * (holds + plan.traffic.warm_up.as_secs_f64());
    if sessions > MAX_SESSIONS {
        root.refuse_whole(
            "traffic",
            format!("makes about {sessions:.0} sessions; accepted: at most {MAX_SESSIONS}"),
        );
    }
}

const MAX_STEPS: usize = 100;
const MAX_SESSIONS: f64 = 100e6;
const ENDPOINTS: RangeInclusive<u64> = 1..=1_000_000;
