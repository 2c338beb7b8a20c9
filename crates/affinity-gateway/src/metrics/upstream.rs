//! What took too long on the side of the endpoints.

use metrics::{Key, Label, Metadata, Recorder, Unit};

use crate::upstream::Timeouts;

pub(super) const TIMEOUTS: &str = "affinity_upstream_timeouts_total";

pub(super) fn timeouts(recorder: &dyn Recorder, metadata: &Metadata<'_>) -> Timeouts {
    let help = "Exchanges with an endpoint that took too long, by what did.";
    recorder.describe_counter(TIMEOUTS.into(), Some(Unit::Count), help.into());
    Timeouts::new(|kind| {
        let labels = vec![Label::from_static_parts("kind", kind.as_str())];
        recorder.register_counter(&Key::from_parts(TIMEOUTS, labels), metadata)
    })
}
