//! The future of [`GroupTag`](super::GroupTag).

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;

use super::names;

pin_project! {
    /// Removes what the endpoint sent under our names once the answer is there.
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        inner: F,
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(inner: F) -> Self {
        Self { inner }
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut response = ready!(self.project().inner.poll(cx))?;
        names::remove_answered(response.headers_mut());
        Poll::Ready(Ok(response))
    }
}
