//! What is measured of the sources of endpoints.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use metrics::{Gauge, Key, Label, Level, Metadata, Recorder, Unit};
use tower_affinity::core::GroupName;

use crate::control::{Control, Failure};

/// Names and help of the series; `docs/metrics.md` has a row for each.
pub(super) const STALE: (&str, &str) = (
    "affinity_discovery_stale_seconds",
    "Time since the source of a group's endpoints last gave a good list; 0 while it does.",
);
pub(super) const FAILURES: (&str, &str) = (
    "affinity_discovery_failures_total",
    "Answers of sources of endpoints that did not count, or not wholly, by what was wrong.",
);

/// The series of the sources.
#[derive(Clone)]
pub(crate) struct DiscoverySeries {
    recorder: Arc<dyn Recorder + Send + Sync>,
    shown: Arc<Mutex<BTreeMap<GroupName, Gauge>>>,
}

impl DiscoverySeries {
    pub(super) fn register(recorder: Arc<dyn Recorder + Send + Sync>) -> Self {
        let (name, help) = STALE;
        recorder.describe_gauge(name.into(), Some(Unit::Seconds), help.into());
        let (name, help) = FAILURES;
        recorder.describe_counter(name.into(), Some(Unit::Count), help.into());
        Self {
            recorder,
            shown: Arc::default(),
        }
    }

    pub(crate) fn count(&self, group: &GroupName, failure: Failure) {
        let labels = vec![
            Label::new("group", group.to_string()),
            Label::from_static_parts("kind", failure.as_str()),
        ];
        let key = Key::from_parts(FAILURES.0, labels);
        self.recorder
            .register_counter(&key, &metadata())
            .increment(1);
    }

    /// Shows what is so now; what is followed no more shows 0.
    pub(super) fn show(&self, control: &Control) {
        let now = control.now();
        let standings = control.sources().standings();
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        for (group, gauge) in &*shown {
            if !standings.contains_key(group) {
                gauge.set(0.0);
            }
        }
        for (group, standing) in standings {
            let stale = standing.stale(now).as_secs_f64();
            let gauge = shown.entry(group).or_insert_with_key(|group| {
                let label = Label::new("group", group.to_string());
                let key = Key::from_parts(STALE.0, vec![label]);
                self.recorder.register_gauge(&key, &metadata())
            });
            gauge.set(stale);
        }
    }
}

impl std::fmt::Debug for DiscoverySeries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DiscoverySeries")
    }
}

fn metadata() -> Metadata<'static> {
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()))
}
