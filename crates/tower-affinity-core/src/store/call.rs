//! What a store answers, now or later.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The answer of a store: here already, or on its way. Only the second is boxed, so that a store in
/// memory costs no allocation for it.
#[must_use = "a store does nothing before its answer is awaited"]
pub enum StoreCall<T> {
    /// It is here; `None` once it was taken.
    Ready(Option<Result<T, StoreError>>),
    /// It takes a while.
    Later(Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>),
}

impl<T> StoreCall<T> {
    /// An answer that is here already.
    pub fn ready(value: T) -> Self {
        Self::Ready(Some(Ok(value)))
    }

    /// An answer that takes a while.
    pub fn later(answer: impl Future<Output = Result<T, StoreError>> + Send + 'static) -> Self {
        Self::Later(Box::pin(answer))
    }

    /// The same call with another form of its answer.
    pub fn map<U>(self, change: impl FnOnce(T) -> U + Send + 'static) -> StoreCall<U>
    where
        T: 'static,
    {
        match self {
            Self::Ready(answer) => StoreCall::Ready(answer.map(|answer| answer.map(change))),
            Self::Later(answer) => StoreCall::later(async { answer.await.map(change) }),
        }
    }

    /// The call failed at once.
    pub fn failed(error: StoreError) -> Self {
        Self::Ready(Some(Err(error)))
    }
}

/// A call holds its value only to give it away, never pinned.
impl<T> Unpin for StoreCall<T> {}

impl<T> Future for StoreCall<T> {
    type Output = Result<T, StoreError>;

    /// # Panics
    ///
    /// If it is polled after it was ready, as any future may.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            #[expect(
                clippy::expect_used,
                reason = "a future is not polled after it is ready"
            )]
            Self::Ready(answer) => Poll::Ready(answer.take().expect("polled after it was ready")),
            Self::Later(answer) => answer.as_mut().poll(cx),
        }
    }
}

impl<T> fmt::Debug for StoreCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready(_) => "StoreCall::Ready",
            Self::Later(_) => "StoreCall::Later",
        })
    }
}

/// A store that did not answer as it should.
#[derive(Debug)]
pub struct StoreError(Box<dyn Error + Send + Sync>);

impl StoreError {
    /// An error with its cause, which must name no secret, key or session.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store of assignments is out of reach")
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}
