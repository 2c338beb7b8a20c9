//! Where series are registered, and handles that are kept once they can last.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata};

/// The recorder of the `metrics` crate that is fed: one of our own, or the global one.
#[derive(Clone, Default)]
pub(super) struct Source(Arc<Inner>);

#[derive(Default)]
struct Inner {
    own: Option<Arc<dyn metrics::Recorder + Send + Sync>>,
    described: AtomicBool,
}

const METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

impl Source {
    pub(super) fn own(recorder: Arc<dyn metrics::Recorder + Send + Sync>) -> Self {
        Self(Arc::new(Inner {
            own: Some(recorder),
            described: AtomicBool::new(false),
        }))
    }

    /// Runs `register` on the recorder. The flag says whether handles of it last: those that are
    /// made before the application has installed its recorder count into nothing for ever.
    fn with<T>(&self, register: impl FnOnce(&dyn metrics::Recorder, bool) -> T) -> T {
        let run = |recorder: &dyn metrics::Recorder, lasts: bool| {
            if lasts && !self.0.described.swap(true, Ordering::Relaxed) {
                super::names::describe(recorder);
            }
            register(recorder, lasts)
        };
        match &self.0.own {
            Some(own) => run(own, true),
            // the crate's stand-in has no state; any recorder that does something has some
            None => metrics::with_recorder(|recorder| run(recorder, size_of_val(recorder) > 0)),
        }
    }

    /// A gauge that is set rarely enough to be looked up each time.
    pub(super) fn set(&self, name: &'static str, labels: Vec<Label>, value: f64) {
        let key = Key::from_parts(name, labels);
        self.with(|recorder, _| recorder.register_gauge(&key, &METADATA).set(value));
    }

    /// A counter that is counted elsewhere, where it is read when it is shown.
    pub(super) fn counted(&self, name: &'static str, labels: Vec<Label>, value: u64) {
        let key = Key::from_parts(name, labels);
        self.with(|recorder, _| recorder.register_counter(&key, &METADATA).absolute(value));
    }

    /// A counter that counts rarely enough to be looked up each time.
    pub(super) fn count(&self, name: &'static str, labels: Vec<Label>, by: u64) {
        let key = Key::from_parts(name, labels);
        self.with(|recorder, _| recorder.register_counter(&key, &METADATA).increment(by));
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.own.is_some() {
            "own"
        } else {
            "global"
        })
    }
}

/// A handle that is made at its first use and kept from the first time that it lasts.
pub(super) struct Kept<T>(OnceLock<T>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T: Handle> Kept<T> {
    /// Applies `act` to the handle; `key` names its series.
    pub(super) fn with(&self, source: &Source, key: impl FnOnce() -> Key, act: impl FnOnce(&T)) {
        if let Some(handle) = self.0.get() {
            return act(handle);
        }
        source.with(|recorder, lasts| {
            let handle = T::register(recorder, &key());
            if lasts {
                act(self.0.get_or_init(|| handle));
            } else {
                act(&handle);
            }
        });
    }

    pub(super) fn get(&self) -> Option<&T> {
        self.0.get()
    }
}

/// The handles of the `metrics` crate, alike but for their names.
pub(super) trait Handle {
    fn register(recorder: &dyn metrics::Recorder, key: &Key) -> Self;
}

impl Handle for Counter {
    fn register(recorder: &dyn metrics::Recorder, key: &Key) -> Self {
        recorder.register_counter(key, &METADATA)
    }
}

impl Handle for Gauge {
    fn register(recorder: &dyn metrics::Recorder, key: &Key) -> Self {
        recorder.register_gauge(key, &METADATA)
    }
}

impl Handle for Histogram {
    fn register(recorder: &dyn metrics::Recorder, key: &Key) -> Self {
        recorder.register_histogram(key, &METADATA)
    }
}
