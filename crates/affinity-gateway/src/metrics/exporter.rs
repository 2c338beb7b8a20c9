//! Where everything is recorded: the gateway's own exporter for Prometheus, and where there is
//! telemetry the recorder of the process as well.

use std::sync::Arc;

use metrics::Recorder;

/// Upper bounds in seconds: those of the semantic conventions for the duration of HTTP requests,
/// with three finer ones, since a gateway adds less than a millisecond.
#[cfg(any(feature = "metrics", feature = "otel"))]
pub(crate) const SECONDS: [f64; 17] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0,
    7.5, 10.0,
];

/// What all series are registered with.
pub(super) type Sink = Arc<dyn Recorder + Send + Sync>;

/// Renders the own exporter's series.
#[derive(Clone)]
pub(super) struct Page(#[cfg(feature = "metrics")] metrics_exporter_prometheus::PrometheusHandle);

#[cfg(feature = "metrics")]
pub(super) fn build() -> Result<(Sink, Page), String> {
    use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};

    let exporter = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .map_err(|error| error.to_string())?
        .build_recorder();
    let page = Page(exporter.handle());
    Ok((shared(exporter), page))
}

/// Without the feature nothing is recorded, and the page is empty.
#[cfg(not(feature = "metrics"))]
pub(super) fn build() -> Result<(Sink, Page), String> {
    Ok((shared(metrics::NoopRecorder), Page()))
}

#[cfg(not(feature = "otel"))]
fn shared(own: impl Recorder + Send + Sync + 'static) -> Sink {
    Arc::new(own)
}

#[cfg(feature = "otel")]
fn shared(own: impl Recorder + Send + Sync + 'static) -> Sink {
    Arc::new(super::both::Both(own))
}

impl Page {
    pub(super) fn render(&self) -> String {
        #[cfg(feature = "metrics")]
        return self.0.render();
        #[cfg(not(feature = "metrics"))]
        String::new()
    }

    pub(super) fn upkeep(&self) {
        #[cfg(feature = "metrics")]
        self.0.run_upkeep();
    }
}
