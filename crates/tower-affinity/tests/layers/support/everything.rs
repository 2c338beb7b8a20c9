//! A subscriber that keeps all that is traced.

use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Writes down everything that is traced, at every level.
#[derive(Clone, Default)]
pub(crate) struct Everything(Arc<Mutex<String>>);

impl Everything {
    pub(crate) fn write(&self, text: &str) {
        let mut all = self.0.lock().unwrap();
        all.push_str(text);
        all.push('\n');
    }

    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap().clone()
    }
}

impl Visit for Everything {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.write(&format!("{field}={value:?}"));
    }
}

impl Subscriber for Everything {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        attributes.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What is traced while `run` runs, which it does twice.
///
/// A place that traces decides once whether anybody listens, and keeps to that. If another test has
/// met it for the first time just as this one begins to listen, it may have decided on the others
/// alone; it is asked again once it is known, and the second time all of them speak.
pub(crate) fn heard<T>(mut run: impl FnMut(&Everything) -> T) -> (T, String) {
    let said = Everything::default();
    tracing::subscriber::with_default(said.clone(), || {
        run(&said);
        tracing::callsite::rebuild_interest_cache();
        said.0.lock().unwrap().clear();
        let value = run(&said);
        (value, said.text())
    })
}
