//! The service of [`SignalLayer`](super::SignalLayer).

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::header::{HeaderMap, HeaderName};
use http::{Request, Response};
use pin_project_lite::pin_project;
use tower_affinity_core::Said;
use tower_service::Service;

use super::{OUTCOME, Outcome, SESSION, Signal, said};
use crate::misplaced::Misplaced;
use crate::record::Recorder;

/// Turns what the application says in headers into a [`Signal`]; see the [module](super).
#[derive(Clone, Debug)]
pub struct SignalService<S> {
    inner: S,
    recorder: Recorder,
    misplaced: Misplaced,
}

impl<S> SignalService<S> {
    pub(super) fn new(inner: S, recorder: Recorder, misplaced: Misplaced) -> Self {
        Self {
            inner,
            recorder,
            misplaced,
        }
    }
}

impl<S, B, R> Service<Request<B>> for SignalService<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ResponseFuture {
            misplaced: self.misplaced.outside(request.extensions()),
            inner: self.inner.call(request),
            recorder: self.recorder.clone(),
        }
    }
}

pin_project! {
    /// Takes the headers off once the answer is there.
    #[derive(Debug)]
    pub struct ResponseFuture<F> {
        #[pin]
        inner: F,
        recorder: Recorder,
        misplaced: Option<Misplaced>,
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
        if let Some(misplaced) = this.misplaced {
            misplaced.look(response.extensions(), "SignalLayer");
        }
        hear(&mut response, this.recorder);
        Poll::Ready(Ok(response))
    }
}

/// Takes what an application says in headers off its answer, and leaves it for the state side.
pub(crate) fn hear<R>(response: &mut Response<R>, recorder: &Recorder) {
    if let Some(said) = take(response.headers_mut(), recorder) {
        said::note(response.extensions_mut(), said);
    }
}

fn take(headers: &mut HeaderMap, recorder: &Recorder) -> Option<Said> {
    // an entry makes room even for what is not there
    if !headers
        .keys()
        .any(|name| *name == SESSION || *name == OUTCOME)
    {
        return None;
    }
    let mut all = Said::default();
    each(headers, SESSION, |value| match Signal::parse(value) {
        Some(signal) => all = said::and(all, signal),
        None => recorder.signal_ignored(),
    });
    each(headers, OUTCOME, |value| match Outcome::parse(value) {
        Some(outcome) => all = said::with(all, outcome.flag()),
        None => recorder.signal_ignored(),
    });
    Some(all)
}

/// Takes every value of a header off.
fn each(headers: &mut HeaderMap, name: HeaderName, mut read: impl FnMut(&[u8])) {
    if let http::header::Entry::Occupied(entry) = headers.entry(name) {
        for value in entry.remove_entry_mult().1 {
            read(value.as_bytes());
        }
    }
}
