//! The future of [`Propagate`](super::Propagate).

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;

use crate::carrier::header;

pin_project! {
    /// Keeps the pin of the other service once its answer is there.
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
        // it is for us and not for our client, to whom whole answers are often passed on
        response.headers_mut().remove(header::PIN);
        Poll::Ready(Ok(response))
    }
}
