//! The future of [`Access`](super::Access).

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;
use tower_affinity::Affinity;
use tower_affinity::record::Account;
use tracing::Span;

pin_project! {
    /// Notes the head of the answer.
    #[derive(Debug)]
    pub(crate) struct ResponseFuture<F> {
        #[pin]
        inner: F,
        span: Span,
        account: Option<Account>,
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(inner: F, span: Span, account: Option<Account>) -> Self {
        Self {
            inner,
            span,
            account,
        }
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = {
            let _within = this.span.enter();
            ready!(this.inner.poll(cx))
        };
        let response = answer?;
        if !this.span.is_disabled() {
            record(this.span, &response);
        }
        if let Some(account) = this.account.take() {
            account.answered(response.status(), response.extensions().get());
        }
        Poll::Ready(Ok(response))
    }
}

fn record<R>(span: &Span, response: &Response<R>) {
    span.record("http.response.status_code", response.status().as_u16());
    if let Some(affinity) = response.extensions().get::<Affinity>() {
        let decision = affinity.decision();
        span.record("deployment.id", decision.group_label());
        span.record("affinity.decision", decision.kind.as_str());
        span.record("affinity.cause", decision.cause.as_str());
        span.record("affinity.cohort", decision.cohort.as_str());
    }
}
