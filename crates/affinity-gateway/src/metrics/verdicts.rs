//! What is measured of the verdicts on canaries.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use metrics::{Key, Label, Level, Metadata, Recorder, Unit};
use tower_affinity::core::GroupName;
use tower_affinity::core::analysis::{Tally, Verdict};

/// Names and help of the series; `docs/metrics.md` has a row for each.
pub(super) const VERDICT: (&str, &str) = (
    "affinity_canary_verdict",
    "1 for what is known of a canary beside the stable group, else 0.",
);
pub(super) const SESSIONS: (&str, &str) = (
    "affinity_step_sessions",
    "Sessions that the draw has assigned since the last step, at all replicas.",
);
pub(super) const FAILED: (&str, &str) = (
    "affinity_step_sessions_failed",
    "Those of them that have failed.",
);

/// The series of the verdicts.
#[derive(Clone)]
pub(crate) struct VerdictSeries {
    recorder: Arc<dyn Recorder + Send + Sync>,
    shown: Arc<Mutex<BTreeSet<GroupName>>>,
}

impl VerdictSeries {
    pub(super) fn register(recorder: Arc<dyn Recorder + Send + Sync>) -> Self {
        for (name, help) in [VERDICT, SESSIONS, FAILED] {
            recorder.describe_gauge(name.into(), Some(Unit::Count), help.into());
        }
        Self {
            recorder,
            shown: Arc::default(),
        }
    }

    /// Shows what was counted of each group since the step, and the verdicts on the canaries among
    /// them; who is no longer compared shows 0 throughout.
    pub(crate) fn show(&self, groups: &[(&GroupName, Tally, Option<Verdict>)]) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let names = groups.iter().map(|(name, ..)| (*name).clone());
        let gone = std::mem::replace(&mut *shown, names.collect());
        for group in gone.difference(&shown) {
            self.set(group, Tally::default(), None);
        }
        for (group, tally, verdict) in groups {
            self.set(group, *tally, *verdict);
        }
    }

    fn set(&self, group: &GroupName, tally: Tally, verdict: Option<Verdict>) {
        let label = || Label::new("group", group.to_string());
        for one in Verdict::ALL {
            let is = f64::from(u8::from(verdict == Some(one)));
            let word = Label::from_static_parts("verdict", one.name());
            self.gauge(VERDICT.0, vec![label(), word], is);
        }
        self.gauge(SESSIONS.0, vec![label()], tally.sessions as f64);
        self.gauge(FAILED.0, vec![label()], tally.failed as f64);
    }

    fn gauge(&self, name: &'static str, labels: Vec<Label>, value: f64) {
        let metadata = Metadata::new(module_path!(), Level::INFO, Some(module_path!()));
        let key = Key::from_parts(name, labels);
        self.recorder.register_gauge(&key, &metadata).set(value);
    }
}
