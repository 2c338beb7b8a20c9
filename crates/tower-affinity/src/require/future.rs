//! The future of [`RequireGroupService`](super::RequireGroupService).

use std::pin::Pin;
use std::task::{Context, Poll};

use http::Response;
use pin_project_lite::pin_project;

pin_project! {
    /// Waits for the application's answer, or is the answer that refuses.
    #[derive(Debug)]
    pub struct ResponseFuture<F, R> {
        #[pin]
        inner: Option<F>,
        refusal: Option<Response<R>>,
    }
}

impl<F, R> ResponseFuture<F, R> {
    pub(super) fn inner(inner: F) -> Self {
        Self {
            inner: Some(inner),
            refusal: None,
        }
    }

    pub(super) fn refused(refusal: Response<R>) -> Self {
        Self {
            inner: None,
            refusal: Some(refusal),
        }
    }
}

impl<F, R, E> Future for ResponseFuture<F, R>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Some(inner) = this.inner.as_pin_mut() {
            return inner.poll(cx);
        }
        #[expect(
            clippy::expect_used,
            reason = "a future is not polled after it is ready"
        )]
        let refusal = this.refusal.take().expect("polled after it was ready");
        Poll::Ready(Ok(refusal))
    }
}
