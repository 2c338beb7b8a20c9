//! The future of [`PinService`](super::PinService).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Response;
use pin_project_lite::pin_project;

use super::read::Came;
use super::shared::Wire;

pin_project! {
    /// Writes the pin once the answer is there.
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        inner: F,
        wire: Arc<Wire>,
        came: Came,
    }
}

impl<F> ResponseFuture<F> {
    #[inline]
    pub(super) fn new(inner: F, wire: Arc<Wire>, came: Came) -> Self {
        Self { inner, wire, came }
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
            this.wire.write(this.came, response);
        }
        polled
    }
}
