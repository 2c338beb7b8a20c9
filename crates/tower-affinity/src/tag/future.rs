//! The future of [`GroupTag`](super::GroupTag).

use std::pin::Pin;
use std::task::{Context, Poll};

use http::Response;
use pin_project_lite::pin_project;

use super::names;
use crate::misplaced::Misplaced;

pin_project! {
    /// Removes what the endpoint sent under our names once the answer is there.
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        inner: F,
        misplaced: Option<Misplaced>,
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(inner: F, misplaced: Option<Misplaced>) -> Self {
        Self { inner, misplaced }
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        // an answer is large: it is changed where it lies and not taken out
        let mut polled = this.inner.poll(cx);
        if let Poll::Ready(Ok(response)) = &mut polled {
            if let Some(misplaced) = this.misplaced {
                misplaced.look(response.extensions(), "GroupTagLayer");
            }
            names::remove_answered(response.headers_mut());
        }
        polled
    }
}
