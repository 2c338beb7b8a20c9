//! [`Given`]: the arms of one request's session.

use super::codes::ArmCodes;
use super::{Arm, Experiment, ExperimentSet, MAX_EXPERIMENTS};
use crate::{Cause, Decision, DrawKey, Lifetimes, Revision, Timestamp};

/// What a session is given arms with.
#[derive(Clone, Copy, Debug)]
pub struct Joining<'a> {
    /// For each experiment of the set what its arm is drawn by, where that is not the session's id.
    pub keys: &'a [Option<DrawKey>],
    /// The revision of the decision.
    pub revision: Revision,
    /// The request's one reading of the clock.
    pub now: Timestamp,
    /// How long the scope's pins live.
    pub lifetimes: Lifetimes,
}

/// The arms of one request's session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    set: ExperimentSet,
    arms: [Option<u8>; MAX_EXPERIMENTS],
    news: [bool; MAX_EXPERIMENTS],
}

impl ExperimentSet {
    /// The arms that the session of `decision` has, as its pin says; none is given.
    #[must_use]
    pub fn held(&self, decision: &Decision) -> Given {
        let mut given = Given::none(self);
        if let Some(pin) = decision.pin.as_ref().filter(|_| decision.carries_pin()) {
            for (experiment, arm) in self.as_slice().iter().zip(&mut given.arms) {
                let held = pin.arms.of(experiment.code());
                *arm = held.and_then(|held| Some(experiment.position(held)? as u8));
            }
        }
        given
    }

    /// Gives the session of `decision` an arm of each experiment of which it has none. Its pin then
    /// carries them, and is issued.
    ///
    /// No arm is given without a session, and none to one whose pin is newer than the state here:
    /// nothing of such a pin is changed but its times.
    pub fn join(&self, decision: &mut Decision, joining: &Joining<'_>) -> Given {
        let mut given = self.held(decision);
        let joins = decision.carries_pin() && decision.cause != Cause::Behind;
        let Some(pin) = decision.pin.as_mut().filter(|_| joins) else {
            return given;
        };
        let experiments = self.as_slice();
        let each = experiments.iter().zip(&mut given.arms).zip(&mut given.news);
        let mut keys = joining.keys.iter();
        for ((experiment, arm), is_new) in each {
            let key = keys.next().copied().flatten();
            if arm.is_none() {
                *arm = drawn(experiment, key.unwrap_or(pin.session.into()));
                *is_new = arm.is_some();
            }
        }
        if given.news.iter().all(|is_new| !is_new) {
            return given;
        }
        if pin.arms.is_cut() {
            // they were counted when there was no room for them
            given.news = Default::default();
            if !decision.issue {
                return given;
            }
        }
        let ours = given
            .each()
            .filter_map(|(experiment, arm)| Some(experiment.code_of(arm?)));
        let arms = ArmCodes::new(ours.chain(pin.arms.entries().iter().copied()));
        if !decision.issue {
            let revision = decision.cause.reissued(pin, joining.revision);
            *pin = pin.renewed(revision, joining.now, joining.lifetimes);
            decision.issue = true;
        }
        pin.arms = arms;
        given
    }
}

fn drawn(experiment: &Experiment, key: DrawKey) -> Option<u8> {
    let arm = experiment.draw(key)?;
    let position = experiment.position(experiment.code_of(arm))?;
    Some(position as u8)
}

impl Given {
    /// What a request without a session is given.
    #[must_use]
    pub fn none(set: &ExperimentSet) -> Self {
        Self {
            set: set.clone(),
            arms: Default::default(),
            news: Default::default(),
        }
    }

    /// The experiments, each with the arm that the session has, if it has one.
    pub fn each(&self) -> impl Iterator<Item = (&Experiment, Option<&Arm>)> {
        let experiments = self.set.as_slice().iter();
        experiments.zip(&self.arms).map(|(experiment, arm)| {
            let arm = arm.and_then(|arm| experiment.arms().get(usize::from(arm)));
            (experiment, arm)
        })
    }

    /// The arm of the experiment of that name; `None` if there is no such experiment, or the request
    /// has no session.
    #[must_use]
    pub fn of(&self, experiment: &str) -> Option<&Arm> {
        self.each()
            .find(|(known, _)| known.name().as_str() == experiment)?
            .1
    }

    /// The arms that the session is given with this request.
    pub fn news(&self) -> impl Iterator<Item = (&Experiment, &Arm)> {
        let each = self.each().zip(&self.news);
        each.filter_map(|((experiment, arm), is_new)| Some((experiment, arm.filter(|_| *is_new)?)))
    }
}
