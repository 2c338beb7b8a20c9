//! [`Judged`]: all canaries at one moment.

use tower_affinity::core::analysis::{Comparison, StepTally, Tally, Terms, compare};
use tower_affinity::core::{GroupId, Revision, Rollout, Timestamp};
use tower_affinity::record::Recorder;

use crate::control::Control;

/// All canaries at one moment: the active groups with weight beside the stable one.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) revision: Revision,
    /// The revision of the step that everything is counted from.
    pub(crate) step: Revision,
    /// Since when it is counted; `None` before anything was.
    pub(crate) since: Option<Timestamp>,
    pub(crate) terms: Terms,
    pub(crate) stable: GroupId,
    pub(crate) stable_tally: Tally,
    pub(crate) canaries: Vec<Canary>,
}

/// One canary.
#[derive(Clone, Debug)]
pub(crate) struct Canary {
    pub(crate) id: GroupId,
    pub(crate) tally: Tally,
    pub(crate) comparison: Comparison,
}

impl Judged {
    /// By what this replica has counted until now, and the others said last; `None` without a stable
    /// group, which no rollout is.
    pub(crate) fn now(control: &Control, recorder: &Recorder) -> Option<Self> {
        let rollout = control.rollouts().current();
        let fleet = control.fleet();
        let own = recorder.tallies();
        let counted = |id: &GroupId| {
            let own = own.as_ref().map(|own| own.of(id.name()));
            let step = rollout.step_revision();
            let own = own.filter(|own| own.step == step);
            match (own, fleet.counted(id, step)) {
                (Some(own), Some(others)) => own.merge(others),
                (one, other) => one.or(other),
            }
        };
        Self::of(&rollout, counted, control.terms())
    }

    /// By what was counted of each group since the step.
    pub(super) fn of(
        rollout: &Rollout,
        counted: impl Fn(&GroupId) -> Option<StepTally>,
        terms: Terms,
    ) -> Option<Self> {
        let stable = rollout.group(rollout.stable())?.id().clone();
        let of_stable = counted(&stable);
        let mut since = of_stable.map(|counted| counted.since);
        let stable_tally = of_stable.map(|counted| counted.tally).unwrap_or_default();
        let canaries = rollout.canaries().map(|group| {
            let counted = counted(group.id());
            let from = counted.map(|counted| counted.since);
            since = since.min(from).or(since).or(from);
            let tally = counted.map(|counted| counted.tally).unwrap_or_default();
            Canary {
                id: group.id().clone(),
                tally,
                comparison: compare(&tally, &stable_tally, &terms),
            }
        });
        let canaries = canaries.collect();
        Some(Self {
            revision: rollout.revision(),
            step: rollout.step_revision(),
            since,
            terms,
            stable,
            stable_tally,
            canaries,
        })
    }
}
