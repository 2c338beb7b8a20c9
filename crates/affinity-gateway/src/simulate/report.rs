//! What came of a plan, as data.

use std::time::Duration;

use serde::Serialize;
use tower_affinity::core::{Group, Rollout, State, Timestamp};

use super::gate::Gated;
use super::plan::Plan;
use super::play::Play;
use super::spread::{Length, Think};
use super::step::{Gate, Step};
use super::tally::{Counts, Tally};
use crate::config::Settings;

/// What came of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// How many sessions were played.
    pub sessions: u64,
    /// The groups' names, in the order of the configuration.
    pub groups: Vec<String>,
    /// Sessions that begin in a second, in the mean.
    pub arrivals_per_second: f64,
    /// How long sessions are.
    pub length: Length,
    /// How often they ask.
    pub think: Think,
    /// The steps; number 0 is what was before the plan.
    pub steps: Vec<StepReport>,
    /// The step at whose gate the plan ended, if it did not come to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<usize>,
    /// What is doubtful in the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// Live sessions over time.
    pub samples: Vec<Sample>,
}

/// What came of one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StepReport {
    /// From 1; 0 is what was before the plan.
    pub step: usize,
    /// The change with which it began, as the command line has it.
    pub change: Option<String>,
    /// Seconds from the beginning of the plan; negative before it.
    pub from_secs: f64,
    /// How long it lasted, in seconds.
    pub lasts_secs: f64,
    /// The gate at its end that a live rollout would ask; here it counts as passed.
    pub gate_taken_as_passed: Option<&'static str>,
    /// The gate that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateReport>,
    /// The groups, in the order of the configuration.
    pub groups: Vec<GroupReport>,
}

/// What a gate said.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GateReport {
    /// The verdict on all canaries together.
    pub verdict: &'static str,
    /// When it was in, in seconds from the beginning of the step.
    pub after_secs: f64,
    /// Each canary.
    pub canaries: Vec<CanaryReport>,
}

/// A canary beside the stable group. Differences are parts of all sessions, canary minus stable.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CanaryReport {
    /// Its name.
    pub group: String,
    /// The sessions that had begun there in the step.
    pub sessions: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// The difference that was seen.
    pub difference: f64,
    /// The least difference that can be true.
    pub lower: f64,
    /// The greatest one.
    pub upper: f64,
    /// What that says of it.
    pub verdict: &'static str,
    /// The difference that a comparison of all requests shows, those of older sessions included.
    pub naive: f64,
}

/// One group in one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct GroupReport {
    /// Its name.
    pub group: String,
    /// Where it is in its life.
    pub state: &'static str,
    /// Its share of new sessions by weight.
    pub share: f64,
    /// Sessions assigned to it in the step: those of a canary can be compared with those that the
    /// other groups got in the same step.
    pub assigned: u64,
    /// Sessions assigned to it since the plan began.
    pub assigned_in_all: u64,
    /// New load: sessions assigned in a second, each by one request.
    pub new_per_second: f64,
    /// Live sessions that are pinned to it at the end of the step.
    pub pinned: u64,
    /// The most of them in the step.
    pub pinned_peak: u64,
    /// Pinned load at that peak, in requests a second.
    pub pinned_per_second: f64,
    /// Required capacity: the pinned load at its peak, and the group's weight of all new load.
    pub required_per_second: f64,
    /// The endpoints that bear it, where the plan says what one bears.
    pub endpoints_required: Option<u64>,
    /// The endpoints that it has.
    pub endpoints: u64,
    /// Sessions moved to it.
    pub moved_in: u64,
    /// Sessions moved away from it.
    pub moved_out: u64,
    /// Sessions of it that were refused, which ended them.
    pub refused: u64,
    /// Sessions whose pin to it was over while their client went on: they are assigned anew.
    pub lapsed: u64,
    /// When it is drained, if it drains.
    pub drain: Option<Drain>,
    /// What an abort at the end of the step would do; nothing is asked of the stable group, and of
    /// one that serves nobody.
    pub abort: Option<AbortReport>,
}

/// How a group drains.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Drain {
    /// Seconds from the moment at which it began to drain until it is drained, if nothing else is
    /// changed after the step.
    pub takes_secs: f64,
    /// Whether it is drained by the end of the step.
    pub done: bool,
}

/// What an abort would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum AbortReport {
    /// It can be done.
    Possible {
        /// Live sessions that would move.
        moves: u64,
        /// Live sessions that would be ended.
        ends: u64,
        /// Where they would go; `None` if none would.
        to: Option<String>,
    },
    /// A rule forbids it.
    Refused {
        /// The rule, and what would be allowed.
        why: String,
    },
}

/// The live sessions at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Sample {
    /// Seconds from the beginning of the plan.
    pub at: f64,
    /// Live sessions of each group, in the order of the configuration.
    pub live: Vec<u64>,
}

/// The endpoints that each group has.
pub(super) fn endpoints(settings: &Settings, plan: &Plan) -> Vec<u64> {
    let planned = |name| plan.capacity.as_ref()?.endpoints.get(name).copied();
    let groups = settings.groups.iter();
    groups
        .map(|group| planned(&group.name).unwrap_or(group.endpoints.len() as u64))
        .collect()
}

/// What a step came to; it ended at [`Play::now`].
pub(super) fn step(
    play: &Play<'_>,
    tally: &Tally,
    number: usize,
    step: Option<&Step>,
    gated: Option<&Gated>,
    rollout: &Rollout,
    endpoints: &[u64],
) -> StepReport {
    // a group that was retired long ago is forgotten by the rollout
    let report = |group: &Group| {
        let place = play.rules.place(group.id())?;
        Some(GroupReport {
            assigned_in_all: *play.gathered.get(place)?,
            endpoints: *endpoints.get(place)?,
            ..self::group(play, tally, rollout, group, tally.groups.get(place)?)
        })
    };
    StepReport {
        step: number,
        change: step
            .and_then(|step| step.turn.as_ref())
            .map(ToString::to_string),
        from_secs: signed_seconds(play.begins, tally.from),
        lasts_secs: seconds(tally.until.since(tally.from)),
        gate_taken_as_passed: step
            .filter(|step| step.gate == Some(Gate::Analysis))
            .map(|_| "analysis"),
        gate: gated.map(|gated| gate(play, tally, rollout, gated)),
        groups: rollout.groups().iter().filter_map(report).collect(),
    }
}

fn group(
    play: &Play<'_>,
    tally: &Tally,
    rollout: &Rollout,
    group: &Group,
    counts: &Counts,
) -> GroupReport {
    let traffic = &play.plan.traffic;
    let all: f64 = rollout
        .groups()
        .iter()
        .map(|group| f64::from(group.weight().get()))
        .sum();
    let share = f64::from(group.weight().get()) / all;
    let peak = counts.live().max().unwrap_or_default();
    let pinned = peak as f64 * traffic.think.rate();
    let required = pinned + share * traffic.arrivals_per_second;
    let bears = play
        .plan
        .capacity
        .as_ref()
        .map(|capacity| capacity.requests_per_second);
    let serves = matches!(
        group.state(),
        State::Staged | State::Active | State::Draining { .. }
    );
    let lasted = tally.until.since(tally.from).as_secs_f64();
    GroupReport {
        group: group.name().to_string(),
        state: group.state().name(),
        share: rounded(share, 1e4),
        assigned: counts.assigned,
        assigned_in_all: 0,
        new_per_second: rounded(counts.assigned as f64 / lasted, 1e2),
        pinned: counts.live().last().unwrap_or_default(),
        pinned_peak: peak,
        pinned_per_second: rounded(pinned, 1e2),
        required_per_second: rounded(required, 1e2),
        endpoints_required: bears.map(|bears| libm::ceil(required / bears) as u64),
        endpoints: 0,
        moved_in: counts.arrived,
        moved_out: counts.left,
        refused: counts.refused,
        lapsed: counts.lapsed,
        drain: drain(play, rollout, group),
        abort: (serves && group.name() != rollout.stable())
            .then(|| play.abort(rollout, group, play.now)),
    }
}

fn gate(play: &Play<'_>, tally: &Tally, rollout: &Rollout, gated: &Gated) -> GateReport {
    // what all requests of a group show: those of its older sessions fail at their own rate
    let lasted = tally.until.since(tally.from).as_secs_f64();
    let older = play.plan.failures.as_ref().map_or(0.0, |f| f.older);
    let naive = |group: &Group, failed: u64| {
        let counts = play.rules.place(group.id());
        let counts = counts.and_then(|place| tally.groups.get(place));
        counts.map_or(0.0, |counts| {
            let looks = counts.live().count().max(1) as f64;
            let live = counts.live().sum::<u64>() as f64 / looks;
            let requests = live * play.plan.traffic.think.rate() * lasted;
            let before = counts.live().next().unwrap_or_default() as f64;
            (failed as f64 + older * before) / requests.max(1.0)
        })
    };
    let of_stable = rollout.group(rollout.stable());
    let of_stable = of_stable.and_then(|group| {
        let tally = gated.tallies.get(play.rules.place(group.id())?)?;
        Some(naive(group, tally.failed))
    });
    let canaries = play.comparisons(rollout, &gated.tallies, &play.rules.terms);
    let canaries = canaries.into_iter().map(|(group, tally, compared)| {
        let failures = compared.failures;
        CanaryReport {
            group: group.name().to_string(),
            sessions: tally.sessions,
            failed: tally.failed,
            difference: rounded(failures.difference.unwrap_or_default(), 1e6),
            lower: rounded(failures.interval.lower, 1e6),
            upper: rounded(failures.interval.upper, 1e6),
            verdict: compared.verdict.name(),
            naive: rounded(
                naive(group, tally.failed) - of_stable.unwrap_or_default(),
                1e6,
            ),
        }
    });
    GateReport {
        verdict: gated.verdict.name(),
        after_secs: seconds(gated.at.since(tally.from)),
        canaries: canaries.collect(),
    }
}

fn drain(play: &Play<'_>, rollout: &Rollout, group: &Group) -> Option<Drain> {
    let State::Draining { since } = group.state() else {
        return None;
    };
    let after = play.drained_after(rollout, group.id())?;
    Some(Drain {
        takes_secs: seconds(after.since(*since)),
        done: play.now > after,
    })
}

pub(super) fn seconds(span: Duration) -> f64 {
    rounded(span.as_secs_f64(), 1e3)
}

fn signed_seconds(begins: Timestamp, at: Timestamp) -> f64 {
    seconds(at.since(begins)) - seconds(begins.since(at))
}

/// `number` to as many parts of one.
fn rounded(number: f64, parts: f64) -> f64 {
    libm::round(number * parts) / parts
}
