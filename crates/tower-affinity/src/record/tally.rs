//! What is counted of each group since the last step of the rollout: [`Tallies`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use tower_affinity_core::analysis::{StepTally, Tally};
use tower_affinity_core::{
    Decision, GroupName, Kind, Outcomes, Revision, Rollout, SessionPin, Timestamp,
};

use super::recorder::Recorder;
use super::series::Series;

/// What was counted of all groups since one step of the rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tallies {
    /// The revision of the step.
    pub step: Revision,
    /// Since when this process counts: only sessions that began later are counted, so that none is
    /// among the failed ones and not among all.
    pub since: Timestamp,
    /// The counts by the group's name; a group without any is left out.
    pub groups: BTreeMap<String, Tally>,
}

impl Tallies {
    /// What was counted of one group, with the step.
    #[must_use]
    pub fn of(&self, group: &GroupName) -> StepTally {
        StepTally {
            step: self.step,
            since: self.since,
            tally: self.groups.get(group.as_str()).copied().unwrap_or_default(),
        }
    }
}

/// A step of the rollout, as this process has seen it.
#[derive(Debug)]
struct Step {
    revision: Revision,
    since: Timestamp,
}

/// The present step, which all groups share, and one more than its revision, 0 for none: whether a step
/// is the present one is asked with each request.
#[derive(Clone, Debug, Default)]
pub(super) struct Steps(Arc<ArcSwapOption<Step>>, Arc<AtomicU64>);

/// The counts of one group.
#[derive(Debug, Default)]
pub(super) struct TallySeries {
    steps: Steps,
    counts: ArcSwapOption<Counts>,
}

/// Counts that belong to one step. Whoever still counts into those of a step that is over counts
/// into nothing.
#[derive(Debug)]
struct Counts {
    step: Arc<Step>,
    sessions: AtomicU64,
    outcomes: [AtomicU64; Outcomes::ALL.len()],
    requests: AtomicU64,
    failed_requests: AtomicU64,
}

/// How long before a process began its rollout can have been made for it, in seconds.
const FRESH: u64 = 2;

impl Step {
    /// The first step that a process sees. Another process may have served the sessions that began
    /// in the same second before it, unless the rollout was made just now: its revision is the time
    /// in seconds then.
    fn first(revision: Revision, now: Timestamp) -> Self {
        let second = now.whole_secs();
        let is_fresh = revision.0.saturating_add(FRESH) >= second.as_secs();
        let since = if is_fresh || second == now {
            second
        } else {
            Timestamp::from_secs(second.as_secs() + 1)
        };
        Self { revision, since }
    }

    /// A step that came while this process served: it was the first to assign under it here.
    fn next(revision: Revision, now: Timestamp) -> Self {
        Self {
            revision,
            since: now.whole_secs(),
        }
    }

    /// Whether a session is one of those that the draw has assigned since.
    fn has(&self, pin: &SessionPin) -> bool {
        !pin.placed && pin.assigned >= self.revision && pin.started >= self.since
    }
}

impl Steps {
    /// A decision is going to be made after the step `revision`.
    fn reach(&self, revision: Revision, now: Timestamp) {
        if self.1.load(Ordering::Relaxed) > revision.0 {
            return;
        }
        self.0.rcu(|known| match known {
            Some(known) if known.revision >= revision => Some(Arc::clone(known)),
            Some(_) => Some(Arc::new(Step::next(revision, now))),
            None => Some(Arc::new(Step::first(revision, now))),
        });
        self.1.fetch_max(above(revision), Ordering::Relaxed);
    }

    /// Steps have different revisions, each greater than those before.
    fn is_present(&self, step: &Step) -> bool {
        self.1.load(Ordering::Relaxed) == above(step.revision)
    }
}

fn above(revision: Revision) -> u64 {
    revision.0.saturating_add(1)
}

impl TallySeries {
    pub(super) fn new(steps: Steps) -> Self {
        Self {
            steps,
            counts: ArcSwapOption::empty(),
        }
    }

    /// A request has ended.
    pub(super) fn request(&self, failed: bool) {
        self.with(|counts| {
            add(&counts.requests);
            if failed {
                add(&counts.failed_requests);
            }
        });
    }

    /// The draw has assigned a session, and it was answered.
    fn assigned(&self, pin: &SessionPin) {
        self.with(|counts| {
            if counts.step.has(pin) {
                add(&counts.sessions);
            }
        });
    }

    /// This has become of a session.
    pub(super) fn turned_out(&self, pin: &SessionPin, flag: Outcomes) {
        let nth = Outcomes::ALL.iter().position(|known| *known == flag);
        self.with(|counts| {
            let outcome = nth.and_then(|nth| counts.outcomes.get(nth));
            if let Some(outcome) = outcome.filter(|_| counts.step.has(pin)) {
                add(outcome);
            }
        });
    }

    fn with(&self, count: impl FnOnce(&Counts)) {
        let counts = self.counts.load();
        if let Some(counts) = counts.as_ref().filter(|c| self.steps.is_present(&c.step)) {
            return count(counts);
        }
        if let Some(step) = &*self.steps.0.load() {
            self.with_step(step, count);
        }
    }

    /// Counts into the counts of `step`, unless those of a later one have taken their place.
    fn with_step(&self, step: &Arc<Step>, count: impl FnOnce(&Counts)) {
        let of_step = |counts: &Arc<Counts>| Arc::ptr_eq(&counts.step, step);
        if let Some(counts) = self.counts.load().as_ref().filter(|c| of_step(c)) {
            return count(counts);
        }
        let fresh = Arc::new(Counts::new(Arc::clone(step)));
        // those of a later step, which others have reached meanwhile, stay
        self.counts.rcu(|counts| match counts {
            Some(counts) if counts.step.revision >= step.revision => Some(Arc::clone(counts)),
            _ => Some(Arc::clone(&fresh)),
        });
        if let Some(counts) = self.counts.load().as_ref().filter(|c| of_step(c)) {
            count(counts);
        }
    }

    fn read(&self, step: &Arc<Step>) -> Option<Tally> {
        let counts = self.counts.load();
        let counts = counts.as_ref().filter(|c| Arc::ptr_eq(&c.step, step))?;
        let [failed, completed, slow] = counts.outcomes.each_ref().map(get);
        Some(Tally {
            sessions: get(&counts.sessions),
            failed,
            completed,
            slow,
            requests: get(&counts.requests),
            failed_requests: get(&counts.failed_requests),
        })
    }
}

impl Counts {
    fn new(step: Arc<Step>) -> Self {
        Self {
            step,
            sessions: AtomicU64::default(),
            outcomes: Default::default(),
            requests: AtomicU64::default(),
            failed_requests: AtomicU64::default(),
        }
    }
}

impl Recorder {
    /// What was counted of each group since the last step; `None` before any rollout was served.
    ///
    /// A request that has not ended, or whose answer is not there yet, is not counted yet.
    #[must_use]
    pub fn tallies(&self) -> Option<Tallies> {
        let step = self.common().steps.0.load_full()?;
        let groups = self.groups();
        let groups = groups.values().filter_map(|series| {
            let tally = series.tally().read(&step)?;
            Some((series.group().to_owned(), tally))
        });
        Some(Tallies {
            step: step.revision,
            since: step.since,
            groups: groups.collect(),
        })
    }

    /// From now on decisions are made by `rollout`: after another step, counts begin anew. Layers
    /// call this with each decision; whoever publishes rollouts may, so that counts begin at once.
    pub fn step(&self, rollout: &Rollout, now: Timestamp) {
        self.common().steps.reach(rollout.step_revision(), now);
    }
}

impl Series {
    /// A request has been answered, by whomever.
    pub(super) fn tally_answer(&self, decision: &Decision) {
        if let (Kind::Assigned, Some(pin)) = (decision.kind, &decision.pin) {
            self.tally().assigned(pin);
        }
    }
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

fn get(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use tower_affinity_core::{Lifetimes, SessionId};
    use tower_affinity_testing::id;

    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);
    const STEP: Revision = Revision(7);

    fn pin(assigned: Revision, began: Timestamp) -> SessionPin {
        let session = SessionId::from_random(1);
        SessionPin::new(session, id("a"), assigned, began, Lifetimes::default())
    }

    fn counted(steps: &Steps, count: impl FnOnce(&TallySeries)) -> Option<Tally> {
        let series = TallySeries::new(steps.clone());
        count(&series);
        series.read(&steps.0.load_full()?)
    }

    #[test]
    fn a_session_counts_if_the_draw_has_assigned_it_since_the_step() {
        let steps = Steps::default();
        steps.reach(Revision(1), NOW);
        steps.reach(STEP, NOW.plus(Duration::from_millis(500)));
        let before = NOW.plus(Duration::from_secs(60));
        let moved = pin(STEP, NOW);
        let placed = SessionPin {
            placed: true,
            ..moved.clone()
        };
        for (what, pin, counts) in [
            ("in the second of the step", moved, 1),
            ("by an older revision", pin(Revision(6), before), 0),
            (
                "by a later revision of the same step",
                pin(Revision(9), before),
                1,
            ),
            ("by a tester", placed, 0),
        ] {
            let tally = counted(&steps, |series| {
                series.assigned(&pin);
                series.turned_out(&pin, Outcomes::FAILED);
            });
            let tally = tally.unwrap();
            assert_eq!((tally.sessions, tally.failed), (counts, counts), "{what}");
        }
    }

    #[test]
    fn sessions_that_began_before_the_process_are_not_among_the_failed() {
        for (revision, late, since) in [
            (STEP, 1, 1),
            (STEP, 0, 0),
            // made for this process
            (Revision(NOW.as_secs()), 1, 0),
            (Revision(NOW.as_secs() - 3), 1, 1),
        ] {
            let steps = Steps::default();
            steps.reach(revision, NOW.plus(Duration::from_millis(late)));
            let tally = counted(&steps, |series| {
                let pin = pin(revision, NOW);
                series.assigned(&pin);
                series.turned_out(&pin, Outcomes::FAILED);
                assert_eq!(
                    steps.0.load_full().unwrap().since,
                    NOW.plus(Duration::from_secs(since))
                );
            });
            let tally = tally.unwrap();
            assert_eq!((tally.sessions, tally.failed), (1 - since, 1 - since));
        }
    }

    #[test]
    fn who_comes_late_to_a_step_takes_nothing_from_the_next() {
        let steps = Steps::default();
        steps.reach(STEP, NOW);
        let old = steps.0.load_full().unwrap();
        let later = Revision(8);
        steps.reach(later, NOW.plus(Duration::from_secs(9)));
        let tally = counted(&steps, |series| {
            series.assigned(&pin(later, NOW.plus(Duration::from_secs(9))));
            // it has looked the step up before the other came
            series.with_step(&old, |counts| add(&counts.sessions));
            series.request(true);
        });
        let tally = tally.unwrap();
        assert_eq!((tally.sessions, tally.failed_requests), (1, 1));
    }

    #[test]
    fn a_step_begins_all_counts_anew_and_an_older_one_does_not() {
        let steps = Steps::default();
        steps.reach(STEP, NOW);
        let series = TallySeries::new(steps.clone());
        let read = || series.read(&steps.0.load_full().unwrap());
        series.request(true);
        series.request(false);
        let tally = read().unwrap();
        assert_eq!((tally.requests, tally.failed_requests), (2, 1));
        steps.reach(Revision(6), NOW);
        assert_eq!(read(), Some(tally), "a late decision of an older snapshot");
        steps.reach(Revision(8), NOW);
        assert_eq!(read(), None);
        series.request(false);
        assert_eq!(read().unwrap().requests, 1);
    }

    #[test]
    fn nothing_is_counted_before_there_is_a_rollout() {
        let series = TallySeries::default();
        series.request(true);
        assert!(series.counts.load().is_none());
    }
}
