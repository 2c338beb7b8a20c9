//! [`Misplaced`]: a layer that stands where it cannot do its work says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Extensions;

use crate::Affinity;

/// Warns once that a layer stands in the wrong place: such a stack answers as if all were well.
///
/// The order of layers is in their types, but nothing in those says what a layer needs to find on a
/// request. So it shows at the first request instead: who should have come before has not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Misplaced(Arc<AtomicBool>);

impl Misplaced {
    /// For a layer that has to stand inside of an `AffinityLayer`: what to look for on the answer, if
    /// the request shows no decision.
    pub(crate) fn outside(&self, request: &Extensions) -> Option<Self> {
        self.unless(request.get::<Affinity>().is_some())
    }

    /// The same for a layer that has looked for the decision already.
    pub(crate) fn unless(&self, is_decided: bool) -> Option<Self> {
        (!is_decided).then(|| self.clone())
    }

    /// The answer to such a request: a decision on it was made further inside.
    pub(crate) fn look(&self, answer: &Extensions, layer: &'static str) {
        if answer.get::<Affinity>().is_some() {
            self.say(
                layer,
                "the layer stands outside of the AffinityLayer and sees no decision: add it \
                 inside, as GatewayLayer does",
            );
        }
    }

    /// Says once what is wrong.
    pub(crate) fn say(&self, layer: &'static str, wrong: &'static str) {
        if !self.0.swap(true, Ordering::Relaxed) {
            tracing::warn!(layer, "{wrong}");
        }
    }
}
