//! The service of [`AccessLayer`](super::AccessLayer).

use std::task::{Context, Poll};

use http::{Request, Response};
use tower_affinity::SPANS;
use tower_affinity::record::Account;
use tower_service::Service;
use tracing::Span;
use tracing::field::Empty;

use super::context::{TraceContext, TraceId};
use super::line::Entry;
use super::{AccessLayer, ResponseFuture};

/// Logs and traces requests; see the [module](super).
#[derive(Clone, Debug)]
pub(crate) struct Access<S> {
    inner: S,
    settings: AccessLayer,
}

impl<S> Access<S> {
    pub(super) fn new(inner: S, settings: AccessLayer) -> Self {
        Self { inner, settings }
    }
}

impl<S, B, R> Service<Request<B>> for Access<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    #[inline]
    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let span = begin(&request);
        let log = self.settings.log.as_ref();
        if log.is_none() && span.is_disabled() {
            return ResponseFuture::new(self.inner.call(request), span, None);
        }
        let named = TraceContext::of(request.headers());
        let context = place(&span, named);
        context.write(request.headers_mut(), named.is_none());
        let account = log.map(|log| {
            let entry = Entry::new(&request, context, self.settings.clock.now());
            let log = log.clone();
            Account::new(move |summary| log.line(entry.line(&summary, log.format)))
        });
        if let Some(account) = &account {
            request.extensions_mut().insert(account.clone());
        }
        let answer = span.in_scope(|| self.inner.call(request));
        ResponseFuture::new(answer, span, account)
    }
}

/// Where the request is in its trace: as whoever traces says, else as a child of what it names.
fn place(span: &Span, named: Option<TraceContext>) -> TraceContext {
    #[cfg(feature = "otel")]
    if let Some(context) = crate::otel::adopt(span, named) {
        return context;
    }
    let context = named.unwrap_or_else(TraceContext::begin).child();
    span.record("trace_id", TraceId(context.trace).text());
    context
}

/// The span of a whole request up to the head of its answer, with the names of OpenTelemetry's
/// semantic conventions for HTTP servers. The query is not in it: it can hold what is nobody's
/// business.
fn begin<B>(request: &Request<B>) -> Span {
    tracing::debug_span!(
        target: SPANS,
        "affinity.request",
        otel.kind = "server",
        otel.name = request.method().as_str(),
        http.request.method = request.method().as_str(),
        url.path = request.uri().path(),
        url.scheme = request.uri().scheme_str().unwrap_or("http"),
        http.response.status_code = Empty,
        deployment.id = Empty,
        affinity.decision = Empty,
        affinity.cause = Empty,
        affinity.cohort = Empty,
        trace_id = Empty,
    )
}
