//! The future of [`GroupIdentity`](super::GroupIdentity).

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Response;
use pin_project_lite::pin_project;

use crate::problem::misdirected;

pin_project! {
    /// Waits for the application's answer, or is the answer that refuses.
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        inner: Option<F>,
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn inner(inner: F) -> Self {
        Self { inner: Some(inner) }
    }

    pub(super) fn refused() -> Self {
        Self { inner: None }
    }
}

impl<F, R, E> Future for ResponseFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: From<Bytes>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().inner.as_pin_mut() {
            Some(inner) => inner.poll(cx),
            None => Poll::Ready(Ok(misdirected())),
        }
    }
}
