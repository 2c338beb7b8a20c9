//! Spans for whoever traces requests.
//!
//! `affinity.decide` lasts from a request's pin to its decision, and `affinity.attempt` from the
//! choice of an endpoint to the head of its answer, once for each that is asked. Both lie within the
//! span that the application has entered when it calls the layers, such as that of a tracing layer
//! outside of them. The group is `deployment.id`, as OpenTelemetry calls it. Their level is `DEBUG`, so where nobody listens they cost a comparison.

use tower_affinity_core::Decision;
use tracing::Span;
use tracing::field::Empty;

/// The target of the spans and of nothing else, for filters.
pub const SPANS: &str = "affinity::spans";

/// From the pin of a request to its decision; `None` where nobody listens.
pub(crate) fn decide() -> Option<Span> {
    if !tracing::level_enabled!(tracing::Level::DEBUG) {
        return None;
    }
    let span = tracing::debug_span!(
        target: SPANS,
        "affinity.decide",
        affinity.decision = Empty,
        affinity.cause = Empty,
        affinity.cohort = Empty,
        deployment.id = Empty,
    );
    (!span.is_disabled()).then_some(span)
}

/// What has come of it.
pub(crate) fn decided(span: &Span, decision: &Decision) {
    span.record("affinity.decision", decision.kind.as_str());
    span.record("affinity.cause", decision.cause.as_str());
    span.record("affinity.cohort", decision.cohort.as_str());
    span.record("deployment.id", decision.group_label());
}
