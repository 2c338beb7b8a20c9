//! The future of [`FromGateway`](super::FromGateway).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::Response;
use pin_project_lite::pin_project;

use super::shared::Shared;
use crate::Affinity;
use crate::signal::said;

pin_project! {
    /// Writes what a handler says of its session once the answer is there.
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        inner: F,
        affinity: Option<Affinity>,
        shared: Arc<Shared>,
    }
}

impl<F> ResponseFuture<F> {
    pub(super) fn new(inner: F, affinity: Option<Affinity>, shared: Arc<Shared>) -> Self {
        Self {
            inner,
            affinity,
            shared,
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
        let mut response = ready!(this.inner.poll(cx))?;
        if response.extensions().get::<Affinity>().is_some() {
            this.shared.both();
        }
        if let Some(affinity) = this.affinity.take() {
            let said = said::take(response.extensions_mut());
            said::write(said, response.headers_mut());
            response.extensions_mut().insert(affinity);
        }
        Poll::Ready(Ok(response))
    }
}
