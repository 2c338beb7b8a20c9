//! What health checks found.

use std::sync::Arc;

use metrics::{Key, Label, Level, Metadata, Recorder, Unit};
use tower_affinity::core::GroupName;

use crate::health::Answer;

/// Name and help of the series; `docs/metrics.md` has a row for it.
pub(super) const CHECKS: (&str, &str) = (
    "affinity_health_checks_total",
    "Health checks of endpoints, by what they found.",
);

/// Counts health checks.
#[derive(Clone)]
pub(crate) struct HealthSeries(Arc<dyn Recorder + Send + Sync>);

impl HealthSeries {
    pub(super) fn register(recorder: Arc<dyn Recorder + Send + Sync>) -> Self {
        let (name, help) = CHECKS;
        recorder.describe_counter(name.into(), Some(Unit::Count), help.into());
        Self(recorder)
    }

    pub(crate) fn count(&self, group: &GroupName, answer: Answer) {
        let labels = vec![
            Label::new("group", group.to_string()),
            Label::from_static_parts("result", answer.as_str()),
        ];
        let key = Key::from_parts(CHECKS.0, labels);
        let metadata = Metadata::new(module_path!(), Level::INFO, Some(module_path!()));
        self.0.register_counter(&key, &metadata).increment(1);
    }
}
