//! Plays a plan: step by step, and in a step session by session.
//!
//! Sessions do not know of each other, so each is played on its own through a whole step; only those
//! that are live at its end are kept. How long a step waits for a group to drain is found out
//! before it is played, by playing copies of the sessions that the group has: each session brings
//! its own chance, so the copy's course is the session's own.

use std::time::Duration;

use tower_affinity::core::{AbortPolicy, GroupId, Rollout, State, Timestamp};

use super::arrivals::Arrivals;
use super::asking::Asking;
use super::dice::Dice;
use super::gate::Gated;
use super::plan::{Plan, PlanError};
use super::report::{self, Report, Sample};
use super::rules::Rules;
use super::session::{Phase, Session};
use super::step::{Gate, Step};
use super::tally::{Counts, Tally};
use crate::config::{ConfigError, Settings};

/// Plays a plan; the same seed gives the same report.
///
/// # Errors
///
/// If a rule forbids one of its steps, or a step waits for a group to drain while none does.
pub fn simulate(settings: &Settings, plan: &Plan, seed: u64) -> Result<Report, PlanError> {
    let begins = EPOCH.plus(plan.traffic.warm_up);
    let rules = Rules::new(settings, &plan.traffic.path, EPOCH)
        .map_err(|error| ConfigError::new(error).key("group"))?;
    rehearse(plan, &rules, begins)?;
    let endpoints = report::endpoints(settings, plan);
    let mut play = Play::new(plan, rules, begins, seed);
    let mut samples = Vec::new();
    let mut steps = Vec::new();
    let mut stopped = None;
    let mut rollout = play.rules.rollout.clone();
    if begins > EPOCH {
        let tally = play.pass(&rollout, begins);
        steps.push(report::step(
            &play, &tally, 0, None, None, &rollout, &endpoints,
        ));
        play.gathered.fill(0);
    }
    for (number, step) in (1..).zip(&plan.steps) {
        rollout = next(number, step, &rollout, &play.rules, play.now)?;
        let gated = play.gated(step, &rollout);
        let until = match &gated {
            Some(gated) if !gated.verdict.passes() => gated.at,
            gated => {
                let end = play.end(step, &rollout);
                gated.as_ref().map_or(end, |gated| end.max(gated.at))
            }
        };
        let tally = play.pass(&rollout, until);
        samples.extend(play.samples(&tally));
        steps.push(report::step(
            &play,
            &tally,
            number,
            Some(step),
            gated.as_ref(),
            &rollout,
            &endpoints,
        ));
        if gated.is_some_and(|gated| !gated.verdict.passes()) {
            stopped = Some(number);
            break;
        }
    }
    Ok(Report {
        seed,
        sessions: play.sessions,
        groups: play
            .rules
            .ids
            .iter()
            .map(|id| id.name().to_string())
            .collect(),
        arrivals_per_second: plan.traffic.arrivals_per_second,
        length: plan.traffic.length,
        think: plan.traffic.think,
        steps,
        stopped,
        doubts: plan.doubts(),
        samples,
    })
}

/// Makes every change of the plan once, so that a refusal comes before the work.
fn rehearse(plan: &Plan, rules: &Rules, begins: Timestamp) -> Result<(), PlanError> {
    let (mut rollout, mut now) = (rules.rollout.clone(), begins);
    for (number, step) in (1..).zip(&plan.steps) {
        rollout = next(number, step, &rollout, rules, now)?;
        if step.until_drained && draining(&rollout).next().is_none() {
            return Err(PlanError::NothingDrains { step: number });
        }
        if step.gate == Some(Gate::NoWorse) && rollout.canaries().next().is_none() {
            return Err(PlanError::NothingToJudge { step: number });
        }
        now = now.plus(step.hold);
    }
    Ok(())
}

/// The rollout in a step.
fn next(
    number: usize,
    step: &Step,
    rollout: &Rollout,
    rules: &Rules,
    now: Timestamp,
) -> Result<Rollout, PlanError> {
    let Some(turn) = &step.turn else {
        return Ok(rollout.clone());
    };
    turn.apply(rollout, rules, rules.change(rollout, now))
        .map_err(|refusal| PlanError::Refused {
            step: number,
            turn: turn.to_string(),
            refusal,
        })
}

/// A plan while it is played.
pub(super) struct Play<'p> {
    pub(super) plan: &'p Plan,
    pub(super) rules: Rules,
    /// When the plan begins; before that sessions only gather.
    pub(super) begins: Timestamp,
    /// The end of what was played.
    pub(super) now: Timestamp,
    /// Sessions whose clients go on.
    pub(super) live: Vec<Session>,
    /// Sessions assigned to each group since the plan began.
    pub(super) gathered: Vec<u64>,
    sessions: u64,
    last_expiry: Vec<Option<Timestamp>>,
    pub(super) arrivals: Arrivals,
}

impl<'p> Play<'p> {
    pub(super) fn new(plan: &'p Plan, rules: Rules, begins: Timestamp, seed: u64) -> Self {
        let groups = rules.ids.len();
        Self {
            plan,
            rules,
            begins,
            now: EPOCH,
            live: Vec::new(),
            gathered: vec![0; groups],
            sessions: 0,
            last_expiry: vec![None; groups],
            arrivals: Arrivals::new(plan.traffic.arrivals_per_second, Dice::new(seed)),
        }
    }

    /// Plays all sessions up to `until`, under one rollout.
    pub(super) fn pass(&mut self, rollout: &Rollout, until: Timestamp) -> Tally {
        let mut tally = Tally::new(self.now, until, std::mem::take(&mut self.last_expiry));
        for session in &self.live {
            tally.carried(session.place);
        }
        let mut asking = Asking::new();
        let mut from = self.now;
        for until in moments(rollout, self.now, until) {
            let phase = Phase {
                rules: &self.rules,
                rollout,
                think: self.plan.traffic.think,
                from,
                until,
            };
            self.live
                .retain_mut(|session| session.play(&phase, &mut asking, &mut tally));
            while let Some((begun, dice)) = self.arrivals.before(until) {
                let length = |dice: &mut Dice| begun.plus(self.plan.traffic.length.draw(dice));
                let mut session = Session::new(dice, begun, length);
                self.sessions += 1;
                if session.play(&phase, &mut asking, &mut tally) {
                    self.live.push(session);
                }
            }
            from = until;
        }
        self.now = until;
        self.last_expiry.clone_from(&tally.last_expiry);
        for (gathered, counts) in self.gathered.iter_mut().zip(&tally.groups) {
            *gathered += counts.assigned;
        }
        tally
    }

    /// How the gate of a step ends that begins now.
    fn gated(&self, step: &Step, rollout: &Rollout) -> Option<Gated> {
        let failures = self.plan.failures.as_ref()?;
        let held = self.now.plus(step.hold);
        match step.gate {
            Some(Gate::NoWorse) => Some(self.gate(rollout, failures, &self.rules.terms, held)),
            Some(Gate::Analysis) | None => None,
        }
    }

    /// When a step ends that begins now.
    fn end(&self, step: &Step, rollout: &Rollout) -> Timestamp {
        let held = self.now.plus(step.hold);
        if !step.until_drained {
            return held;
        }
        let drained = draining(rollout).filter_map(|id| self.drained_after(rollout, id));
        // drained is what is past that moment
        drained
            .map(|after| after.plus(MILLISECOND))
            .fold(held, Timestamp::max)
    }

    /// After what time a draining group is drained if nothing else changes.
    pub(super) fn drained_after(&self, rollout: &Rollout, id: &GroupId) -> Option<Timestamp> {
        let place = self.rules.place(id);
        let phase = Phase {
            rules: &self.rules,
            rollout,
            think: self.plan.traffic.think,
            from: self.now,
            until: Timestamp::from_millis(u64::MAX),
        };
        let mut asking = Asking::new();
        let mut tally = Tally::new(phase.from, phase.until, self.last_expiry.clone());
        for session in self.live.iter().filter(|session| session.place == place) {
            session.clone().play(&phase, &mut asking, &mut tally);
        }
        let last = place.and_then(|place| tally.last_expiry.get(place).copied().flatten());
        rollout.drained_after(id.name(), last, self.rules.max_age(), self.rules.skew)
    }

    fn samples(&self, tally: &Tally) -> Vec<Sample> {
        let mut live: Vec<_> = tally.groups.iter().map(Counts::live).collect();
        let looks = tally.looks();
        looks
            .map(|at| Sample {
                at: report::seconds(at.since(self.begins)),
                live: live.iter_mut().filter_map(Iterator::next).collect(),
            })
            .collect()
    }
}

/// The ends of the phases of a step: a deadline of `stay` changes what is decided, as its end does.
fn moments(rollout: &Rollout, from: Timestamp, until: Timestamp) -> Vec<Timestamp> {
    let deadline = |state: &State| match state {
        State::Aborted(abort) => match abort.policy {
            AbortPolicy::Stay { until } => Some(until),
            AbortPolicy::Move | AbortPolicy::End => None,
        },
        _ => None,
    };
    let deadlines = rollout
        .groups()
        .iter()
        .filter_map(|group| deadline(group.state()));
    let mut moments: Vec<_> = deadlines.filter(|at| from < *at && *at < until).collect();
    moments.push(until);
    moments.sort_unstable();
    moments.dedup();
    moments
}

fn draining(rollout: &Rollout) -> impl Iterator<Item = &GroupId> {
    let groups = rollout.groups().iter();
    groups
        .filter(|group| matches!(group.state(), State::Draining { .. }))
        .map(|group| group.id())
}

/// When the first session may begin; the number says nothing.
pub(super) const EPOCH: Timestamp = Timestamp::from_secs(1_800_000_000);
const MILLISECOND: Duration = Duration::from_millis(1);
