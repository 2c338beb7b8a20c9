//! What is counted of sessions that fail, reach their aim, are slow or end.

use std::time::Duration;

use metrics::{Counter, Key, Label};
use tower_affinity_core::{Cohort, Decision, Outcomes, SessionPin, Timestamp};

use super::names;
use super::once::Once;
use super::recorder::Recorder;
use super::series::Series;
use super::source::Kept;

/// What an answer shows of its session besides what the application says: a response extension,
/// from whoever counts requests to whoever writes the pin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed(pub(crate) Outcomes);

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Its flow has reached its aim, as the application said.
    Success,
    /// It has failed.
    Failure,
    /// Nothing was said of it.
    Unknown,
    /// We ended it: its commit was withdrawn.
    Aborted,
}

impl Ending {
    /// All of them, for closed label sets.
    pub(super) const ALL: [Self; 4] = [Self::Success, Self::Failure, Self::Unknown, Self::Aborted];

    /// By what is said along with the end, else by what became of the session before, and by this
    /// answer as it was `observed`. One that has completed has reached its aim, whatever has failed
    /// on the way.
    pub(crate) fn of(said: Outcomes, observed: Outcomes, decision: &Decision) -> Self {
        let pin = decision.pin.as_ref();
        let before = pin.map_or(observed, |pin| pin.outcomes.and(observed));
        if said.contains(Outcomes::FAILED) {
            Self::Failure
        } else if said.and(before).contains(Outcomes::COMPLETED) {
            Self::Success
        } else if before.contains(Outcomes::FAILED) {
            Self::Failure
        } else {
            Self::Unknown
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Unknown => "unknown",
            Self::Aborted => "aborted",
        }
    }
}

/// The counter of each flag, in the order of [`Outcomes::ALL`].
const NAMES: [&str; Outcomes::ALL.len()] = [
    names::SESSIONS_FAILED,
    names::SESSIONS_COMPLETED,
    names::SESSIONS_SLOW,
];

type PerCohort = [Kept<Counter>; Cohort::ALL.len()];

/// The series of one group.
#[derive(Default)]
pub(super) struct OutcomeSeries {
    flags: [PerCohort; NAMES.len()],
    ended: [PerCohort; Ending::ALL.len()],
}

/// Which sessions have been counted already, where their pins do not tell.
#[derive(Default)]
pub(super) struct Counted {
    flags: [Once; NAMES.len()],
    ended: Once,
}

impl Recorder {
    /// Counts what is new of the session of a decision: what its pin does not say yet, and was not
    /// counted here since.
    pub(crate) fn turned_out(&self, decision: &Decision, outcomes: Outcomes) {
        self.with(decision.group_label(), |series| {
            series.turned_out(decision, outcomes);
        });
    }

    /// The session of a decision has ended.
    pub(crate) fn ended(
        &self,
        decision: &Decision,
        ending: Ending,
        now: Timestamp,
        idle: Duration,
    ) {
        let Some(pin) = &decision.pin else { return };
        if self.common().counted.ended.is_new(key_of(pin)) {
            let series = self.series(decision.group_label());
            series.ended(ending, decision.cohort);
            series.left(pin.session, now, idle);
        }
    }
}

impl Series {
    /// As [`Recorder::turned_out`], for a decision of this group.
    pub(super) fn turned_out(&self, decision: &Decision, outcomes: Outcomes) {
        let Some(pin) = &decision.pin else { return };
        let news = outcomes.without(pin.outcomes);
        if news.is_empty() {
            return;
        }
        for (nth, flag) in Outcomes::ALL.into_iter().enumerate() {
            let counted = self.common().counted.flags.get(nth);
            if news.contains(flag) && counted.is_some_and(|once| once.is_new(key_of(pin))) {
                self.outcome(nth, decision.cohort);
                self.tally().turned_out(pin, flag);
            }
        }
    }

    fn outcome(&self, nth: usize, cohort: Cohort) {
        let handles = self.outcomes().flags.get(nth).zip(NAMES.get(nth));
        if let Some((cohorts, name)) = handles {
            self.count_in(cohorts, name, cohort, None);
        }
    }

    fn ended(&self, ending: Ending, cohort: Cohort) {
        if let Some(cohorts) = self.outcomes().ended.get(ending as usize) {
            let outcome = Label::from_static_parts("outcome", ending.as_str());
            self.count_in(cohorts, names::SESSIONS_ENDED, cohort, Some(outcome));
        }
    }

    /// Counts one in the series of a cohort.
    pub(super) fn count_in(
        &self,
        cohorts: &PerCohort,
        name: &'static str,
        cohort: Cohort,
        more: Option<Label>,
    ) {
        if let Some(handle) = cohorts.get(cohort as usize) {
            let key = || {
                let cohort = Label::from_static_parts("cohort", cohort.as_str());
                let labels = [self.label(), cohort].into_iter().chain(more);
                Key::from_parts(name, labels.collect::<Vec<_>>())
            };
            handle.with(self.source(), key, |counter| counter.increment(1));
        }
    }
}

/// Of a session, however often it was moved.
fn key_of(pin: &SessionPin) -> u64 {
    pin.session.bits() as u64
}
