//! [`PropagateScopeLayer`]: the context of a request, wherever its handler calls others.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::Request;
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::context::Propagation;
use super::current::{Scoped, scoped};

/// Makes the [`Propagation`] of a request that of the task that answers it; see the
/// [module](super).
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct PropagateScopeLayer;

/// The service of [`PropagateScopeLayer`].
#[derive(Clone, Debug)]
pub struct PropagateScope<S> {
    inner: S,
}

impl PropagateScopeLayer {
    /// A layer inside of an [`AffinityLayer`](crate::AffinityLayer) or a
    /// [`FromGatewayLayer`](crate::FromGatewayLayer), which makes the context.
    pub fn new() -> Self {
        Self
    }
}

impl<S> Layer<S> for PropagateScopeLayer {
    type Service = PropagateScope<S>;

    fn layer(&self, inner: S) -> Self::Service {
        PropagateScope { inner }
    }
}

impl<S, B> Service<Request<B>> for PropagateScope<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ScopeFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let propagation = request.extensions().get::<Propagation>().cloned();
        ScopeFuture {
            scoped: scoped(propagation.unwrap_or_default(), self.inner.call(request)),
        }
    }
}

pin_project! {
    /// Answers within the scope of a context.
    pub struct ScopeFuture<F> {
        #[pin]
        scoped: Scoped<F>,
    }
}

impl<F: Future> Future for ScopeFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().scoped.poll(cx)
    }
}

impl<F> std::fmt::Debug for ScopeFuture<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ScopeFuture")
    }
}

impl Propagation {
    /// That of the task that runs, where a [`PropagateScopeLayer`] or [`scope`](Self::scope) has set
    /// one.
    #[must_use]
    pub fn current() -> Option<Self> {
        super::current::propagation()
    }

    /// Runs `future` with this context as that of its task: for what is spawned, which is another task
    /// and would have none.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// use tower_affinity::Propagation;
    ///
    /// # let propagation = Propagation::default();
    /// let further = tokio::spawn(propagation.scope(async { Propagation::current().is_some() }));
    /// assert!(further.await.unwrap());
    /// # }
    /// ```
    pub async fn scope<F: Future>(self, future: F) -> F::Output {
        scoped(self, future).await
    }
}
