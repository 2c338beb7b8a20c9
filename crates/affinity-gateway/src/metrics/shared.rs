//! What is measured of the state that replicas share.

use metrics::{Counter, Gauge, Key, Metadata, Recorder, Unit};
use tower_affinity::core::Standing;

use crate::control::Control;

/// Names and help of the series; `docs/metrics.md` has a row for each.
pub(super) const AGE: (&str, &str) = (
    "affinity_state_age_seconds",
    "Time since the shared state was last read; 0 for the only replica.",
);
pub(super) const FACTS: (&str, &str) = (
    "affinity_facts",
    "Aborts that only this replica obeys: pending ones merge by themselves, conflicts wait for a human.",
);
pub(super) const REGRESSIONS: (&str, &str) = (
    "affinity_revision_regressions_total",
    "Times that the shared state was behind this replica's, which was written back.",
);
pub(super) const REJECTED: (&str, &str) = (
    "affinity_state_rejected_total",
    "Times that what the engine held was refused: damaged, of another service or of a later release.",
);

/// The series of the shared state.
#[derive(Clone)]
pub(super) struct SharedSeries {
    age: Gauge,
    pending: Gauge,
    conflicts: Gauge,
    regressions: Counter,
    rejected: Counter,
}

impl SharedSeries {
    pub(super) fn register(recorder: &dyn Recorder, metadata: &Metadata<'_>) -> Self {
        for ((name, help), unit) in [(AGE, Unit::Seconds), (FACTS, Unit::Count)] {
            recorder.describe_gauge(name.into(), Some(unit), help.into());
        }
        for (name, help) in [REGRESSIONS, REJECTED] {
            recorder.describe_counter(name.into(), Some(Unit::Count), help.into());
        }
        let counter = |name| recorder.register_counter(&Key::from_static_name(name), metadata);
        let facts = |kind| {
            let key = Key::from_parts(FACTS.0, vec![metrics::Label::new("kind", kind)]);
            recorder.register_gauge(&key, metadata)
        };
        Self {
            age: recorder.register_gauge(&Key::from_static_name(AGE.0), metadata),
            pending: facts("pending"),
            conflicts: facts("conflict"),
            regressions: counter(REGRESSIONS.0),
            rejected: counter(REJECTED.0),
        }
    }

    /// Shows what is so now.
    pub(super) fn show(&self, control: &Control) {
        let facts = control.facts();
        let conflicts = facts
            .iter()
            .filter(|(_, standing)| *standing == Standing::Conflicts)
            .count();
        self.conflicts.set(conflicts as f64);
        self.pending.set((facts.len() - conflicts) as f64);
        if let Some((_, age)) = control.shared_reach() {
            self.age.set(age.as_secs_f64());
        }
        if let Some(member) = control.member() {
            let counts = member.counts();
            self.regressions.absolute(counts.regressions);
            self.rejected.absolute(counts.rejected);
        }
    }
}
