//! `[[step]]`: one change of the rollout, and how long it is watched.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use tower_affinity::core::{
    AbortRequest, AlwaysReady, Change, GroupName, Refusal, Rollout, Weight,
};

use super::rules::Rules;
use crate::config::{Bounds, Field, Section};

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The change with which it begins; `None`: the rollout stays as it is.
    pub turn: Option<Turn>,
    /// How long it lasts at least.
    pub hold: Duration,
    /// Whether it goes on until no pin to a draining group can be valid any more.
    pub until_drained: bool,
    /// What has to be so before the next step.
    pub gate: Option<Gate>,
}

/// What has to be so before the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gate {
    /// A live rollout would ask the analysis; here it counts as passed.
    Analysis,
    /// The step goes on until each canary is no worse; the plan ends with one that is worse.
    NoWorse,
}

impl Gate {
    const WORDS: [(&'static str, Self); 2] =
        [("analysis", Self::Analysis), ("no_worse", Self::NoWorse)];
}

/// A change of the rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Turn {
    /// The named groups get new weights.
    Weights(BTreeMap<GroupName, Weight>),
    /// A group becomes stable with all the weight; the others drain.
    Promote(GroupName),
    /// New sessions end for a group.
    Drain(GroupName),
    /// A group's sessions are moved away, as `[rollback]` says.
    Abort {
        /// The group.
        group: GroupName,
        /// Where they go; by default where the rule sends them.
        to: Option<GroupName>,
    },
}

impl Turn {
    /// The rollout after the change.
    pub(super) fn apply(
        &self,
        rollout: &Rollout,
        rules: &Rules,
        change: Change,
    ) -> Result<Rollout, Refusal> {
        match self {
            Self::Weights(weights) => rollout.weights(weights, change),
            Self::Promote(group) => rollout.promote(group, change),
            Self::Drain(group) => rollout.drain(group, change),
            Self::Abort { group, to } => {
                let request = AbortRequest {
                    to: to.clone(),
                    policy: Some(rules.abort_policy(change.now)),
                    force: false,
                };
                rollout.abort(group, &request, &AlwaysReady, change)
            }
        }
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Weights(weights) => {
                f.write_str("weights")?;
                weights
                    .iter()
                    .try_for_each(|(group, weight)| write!(f, " {group}={weight}"))
            }
            Self::Promote(group) => write!(f, "promote {group}"),
            Self::Drain(group) => write!(f, "drain {group}"),
            Self::Abort { group, to: None } => write!(f, "abort {group}"),
            Self::Abort {
                group,
                to: Some(to),
            } => write!(f, "abort {group} --to {to}"),
        }
    }
}

/// Reads one step; `groups` are the names that it may use.
pub(super) fn read(step: &Section<'_>, groups: &[GroupName]) -> Option<Step> {
    let group = |name| step.field(name).map(|field| known(&field, groups));
    let weights = step.field("weights").map(|field| weights(&field, groups));
    let to = group("to");
    let turns = [
        ("weights", weights.map(|weights| weights.map(Turn::Weights))),
        (
            "promote",
            group("promote").map(|group| group.map(Turn::Promote)),
        ),
        ("drain", group("drain").map(|group| group.map(Turn::Drain))),
        (
            "abort",
            group("abort").map(|group| Some(abort(group?, to.clone().flatten()))),
        ),
    ];
    let mut written = turns
        .into_iter()
        .filter_map(|(key, turn)| Some((key, turn?)));
    let (first, second) = (written.next(), written.next());
    if let (Some((first, _)), Some((second, _))) = (&first, &second) {
        let message = format!("stands beside {first}; accepted: one change in a step");
        step.refuse(second, message);
    }
    if to.is_some() && step.field("abort").is_none() {
        step.refuse(
            "to",
            "is the target of an abort; accepted: together with abort",
        );
    }
    let until = step.field("until");
    let until = until.map(|field| field.word(&[("drained", true)]));
    let gate = step.field("gate");
    let gate = gate.map(|field| field.word(&Gate::WORDS));
    let hold = match (step.field("hold"), &until) {
        (Some(field), _) => field.duration(&HOLD),
        (None, Some(_)) => Some(Duration::ZERO),
        (None, None) => {
            step.missing("hold", &HOLD);
            None
        }
    };
    step.finish();
    Some(Step {
        turn: match first {
            Some((_, turn)) => Some(turn?),
            None => None,
        },
        hold: hold?,
        until_drained: until.unwrap_or(Some(false))?,
        gate: match gate {
            Some(gate) => Some(gate?),
            None => None,
        },
    })
}

fn abort(group: GroupName, to: Option<GroupName>) -> Turn {
    Turn::Abort { group, to }
}

fn weights(field: &Field<'_>, groups: &[GroupName]) -> Option<BTreeMap<GroupName, Weight>> {
    let entries = field.section().named();
    if entries.is_empty() {
        field.refuse("names no group; accepted: a table such as { \"9f1c2ab\" = 90 }");
        return None;
    }
    let weight = |(name, field): (&str, Field<'_>)| {
        let group = groups.iter().find(|group| group.as_str() == name);
        if group.is_none() {
            field.refuse(unknown(groups));
        }
        let weight = field.integer(&(0..=Weight::MAX.get().into()))?;
        Some((group?.clone(), Weight::new(weight).ok()?))
    };
    entries.into_iter().map(weight).collect()
}

/// A group of the configuration.
pub(super) fn known(field: &Field<'_>, groups: &[GroupName]) -> Option<GroupName> {
    let text = field.text("the name of a group of the configuration")?;
    let group = groups.iter().find(|group| group.as_str() == text).cloned();
    if group.is_none() {
        field.refuse(unknown(groups));
    }
    group
}

pub(super) fn unknown(groups: &[GroupName]) -> String {
    let names: Vec<_> = groups.iter().map(GroupName::as_str).collect();
    format!(
        "is no group of the configuration; accepted: {}",
        names.join(", ")
    )
}

const HOLD: Bounds = Bounds::seconds(1, 30 * 86_400);
