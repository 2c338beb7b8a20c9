//! What is measured of streams of events on the admin side.

use metrics::{Counter, Gauge, Key, Metadata, Recorder, Unit};

/// Names and help of the series; `docs/metrics.md` has a row for each.
pub(super) const OPEN: (&str, &str) = (
    "affinity_event_streams_open",
    "Streams of events that the admin side has open.",
);
pub(super) const REFUSED: (&str, &str) = (
    "affinity_event_streams_refused_total",
    "Streams of events that were refused, because too many were open.",
);

/// The series of streams of events.
#[derive(Clone)]
pub(crate) struct StreamSeries {
    open: Gauge,
    refused: Counter,
}

impl StreamSeries {
    pub(super) fn register(recorder: &dyn Recorder, metadata: &Metadata<'_>) -> Self {
        recorder.describe_gauge(OPEN.0.into(), Some(Unit::Count), OPEN.1.into());
        recorder.describe_counter(REFUSED.0.into(), Some(Unit::Count), REFUSED.1.into());
        let series = Self {
            open: recorder.register_gauge(&Key::from_static_name(OPEN.0), metadata),
            refused: recorder.register_counter(&Key::from_static_name(REFUSED.0), metadata),
        };
        series.open.set(0.0);
        series
    }

    pub(crate) fn opened(&self) {
        self.open.increment(1.0);
    }

    pub(crate) fn closed(&self) {
        self.open.decrement(1.0);
    }

    pub(crate) fn refused(&self) {
        self.refused.increment(1);
    }
}
