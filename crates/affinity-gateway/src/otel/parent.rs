//! Where a request's span lies in its trace.

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::access::TraceContext;

/// Puts `span` into the trace that the request names, if it names one. Answers where the span is
/// then; `None` if nobody traces.
pub(crate) fn adopt(span: &Span, named: Option<TraceContext>) -> Option<TraceContext> {
    if span.is_disabled() {
        return None;
    }
    if let Some(named) = named {
        let flags = match named.sampled {
            true => TraceFlags::SAMPLED,
            false => TraceFlags::NOT_SAMPLED,
        };
        let (trace, parent) = (TraceId::from(named.trace), SpanId::from(named.span));
        let state = TraceState::NONE;
        let parent = SpanContext::new(trace, parent, flags, true, state);
        // an error says that nobody listens to this span, or that it has begun: neither is new here
        let _unheard = span.set_parent(Context::new().with_remote_span_context(parent));
    }
    let context = span.context();
    let context = context.span().span_context().clone();
    context.is_valid().then(|| TraceContext {
        trace: u128::from_be_bytes(context.trace_id().to_bytes()),
        span: u64::from_be_bytes(context.span_id().to_bytes()),
        sampled: context.is_sampled(),
    })
}
