//! [`Both`]: an exporter of one's own, and the recorder that the process has installed.

use std::sync::Arc;

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit, with_recorder,
};

/// Tells both everything; the process' recorder is the one that is there at the first use of each
/// series.
pub(super) struct Both<R>(pub(super) R);

/// Two handles of one series.
struct Pair<H>(H, H);

impl<R: Recorder> Recorder for Both<R> {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, text: SharedString) {
        with_recorder(|to| to.describe_counter(name.clone(), unit, text.clone()));
        self.0.describe_counter(name, unit, text);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, text: SharedString) {
        with_recorder(|to| to.describe_gauge(name.clone(), unit, text.clone()));
        self.0.describe_gauge(name, unit, text);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, text: SharedString) {
        with_recorder(|to| to.describe_histogram(name.clone(), unit, text.clone()));
        self.0.describe_histogram(name, unit, text);
    }

    fn register_counter(&self, key: &Key, metadata: &Metadata<'_>) -> Counter {
        let process = with_recorder(|to| to.register_counter(key, metadata));
        let own = self.0.register_counter(key, metadata);
        Counter::from_arc(Arc::new(Pair(own, process)))
    }

    fn register_gauge(&self, key: &Key, metadata: &Metadata<'_>) -> Gauge {
        let process = with_recorder(|to| to.register_gauge(key, metadata));
        let own = self.0.register_gauge(key, metadata);
        Gauge::from_arc(Arc::new(Pair(own, process)))
    }

    fn register_histogram(&self, key: &Key, metadata: &Metadata<'_>) -> Histogram {
        let process = with_recorder(|to| to.register_histogram(key, metadata));
        let own = self.0.register_histogram(key, metadata);
        Histogram::from_arc(Arc::new(Pair(own, process)))
    }
}

impl CounterFn for Pair<Counter> {
    fn increment(&self, value: u64) {
        self.0.increment(value);
        self.1.increment(value);
    }

    fn absolute(&self, value: u64) {
        self.0.absolute(value);
        self.1.absolute(value);
    }
}

impl GaugeFn for Pair<Gauge> {
    fn increment(&self, value: f64) {
        self.0.increment(value);
        self.1.increment(value);
    }

    fn decrement(&self, value: f64) {
        self.0.decrement(value);
        self.1.decrement(value);
    }

    fn set(&self, value: f64) {
        self.0.set(value);
        self.1.set(value);
    }
}

impl HistogramFn for Pair<Histogram> {
    fn record(&self, value: f64) {
        self.0.record(value);
        self.1.record(value);
    }
}
