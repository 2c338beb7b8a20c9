//! The names that OpenTelemetry has for what is counted.

use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Label, Metadata, Recorder, SharedString, Unit,
};
use metrics_opentelemetry::{OpenTelemetryMetrics, OpenTelemetryRecorder};
use opentelemetry::metrics::Meter;

/// Those of the semantic conventions for HTTP servers.
const CONVENTIONS: [(&str, &str); 2] = [
    (
        "affinity_request_duration_seconds",
        "http.server.request.duration",
    ),
    ("affinity_requests_in_flight", "http.server.active_requests"),
];

/// Gives a meter what it is told, under names with dots: what is `affinity_requests_total{group}` for
/// Prometheus is `affinity.requests{deployment.id}` here.
pub(super) struct Renamed(OpenTelemetryRecorder);

impl Renamed {
    /// Histograms have `bounds`, in seconds.
    pub(super) fn new(meter: Meter, bounds: &[f64]) -> Self {
        let mut recorder = OpenTelemetryRecorder::new(OpenTelemetryMetrics::new(meter));
        let durations = CONVENTIONS.iter().map(|(_, name)| *name);
        recorder.set_histogram_bounds_mut(durations, bounds);
        Self(recorder)
    }
}

pub(super) fn renamed(name: &str) -> String {
    if let Some((_, named)) = CONVENTIONS.iter().find(|(ours, _)| *ours == name) {
        return (*named).to_owned();
    }
    // units and sums are no part of a name
    let name = name.strip_suffix("_total").unwrap_or(name);
    let name = name.strip_suffix("_seconds").unwrap_or(name);
    name.replacen('_', ".", 1)
}

fn label(name: &str) -> SharedString {
    match name {
        "group" => "deployment.id".into(),
        name => format!("affinity.{name}").into(),
    }
}

fn key(key: &Key) -> Key {
    let labels = key.labels();
    let labels = labels.map(|of| Label::new(label(of.key()), of.value().to_owned()));
    Key::from_parts(renamed(key.name()), labels.collect::<Vec<_>>())
}

impl Recorder for Renamed {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, text: SharedString) {
        self.0
            .describe_counter(renamed(name.as_str()).into(), unit, text);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, text: SharedString) {
        self.0
            .describe_gauge(renamed(name.as_str()).into(), unit, text);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, text: SharedString) {
        self.0
            .describe_histogram(renamed(name.as_str()).into(), unit, text);
    }

    fn register_counter(&self, of: &Key, metadata: &Metadata<'_>) -> Counter {
        self.0.register_counter(&key(of), metadata)
    }

    fn register_gauge(&self, of: &Key, metadata: &Metadata<'_>) -> Gauge {
        self.0.register_gauge(&key(of), metadata)
    }

    fn register_histogram(&self, of: &Key, metadata: &Metadata<'_>) -> Histogram {
        self.0.register_histogram(&key(of), metadata)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_those_of_the_conventions_or_have_dots() {
        for (ours, theirs) in [
            ("affinity_requests_total", "affinity.requests"),
            (
                "affinity_request_duration_seconds",
                "http.server.request.duration",
            ),
            ("affinity_requests_in_flight", "http.server.active_requests"),
            ("affinity_state_age_seconds", "affinity.state_age"),
            ("affinity_group_weight", "affinity.group_weight"),
        ] {
            assert_eq!(super::renamed(ours), theirs);
        }
    }
}
