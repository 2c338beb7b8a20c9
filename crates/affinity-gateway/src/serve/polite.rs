//! Says to clients on HTTP/1.1 that their connection ends, before it does.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::{HeaderValue, Request, Response, StatusCode, Version, header::CONNECTION};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tower_service::Service;

use super::activity::{Activity, InFlight};
use super::streams;

/// Counts the requests of one connection, and answers those of HTTP/1.1 with `Connection: close`
/// once the connection is to end: whoever has read that sends no more on it, so none is lost.
#[derive(Clone, Debug)]
pub(super) struct Polite<S> {
    inner: S,
    activity: Activity,
}

impl<S> Polite<S> {
    pub(super) fn new(inner: S, activity: Activity) -> Self {
        Self { inner, activity }
    }
}

impl<S, A, B> Service<Request<A>> for Polite<S>
where
    S: Service<Request<A>, Response = Response<B>>,
{
    type Response = Response<Counted<B>>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        Answering {
            in_flight: Some(self.activity.begin()),
            // HTTP/1.0 closes unless told otherwise, HTTP/2 says it with a frame of its own
            says_close: request.version() == Version::HTTP_11,
            inner: self.inner.call(request),
        }
    }
}

pin_project! {
    /// The future of [`Polite`].
    #[derive(Debug)]
    pub(super) struct Answering<F> {
        #[pin]
        inner: F,
        in_flight: Option<InFlight>,
        says_close: bool,
    }
}

impl<F, B, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<Counted<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut answer = ready!(this.inner.poll(cx))?;
        let ends = this.in_flight.as_ref().is_some_and(InFlight::is_last);
        if ends && *this.says_close && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(CONNECTION, close);
        }
        let in_flight = this.in_flight.take();
        streams::hand_out();
        Poll::Ready(Ok(answer.map(|body| Counted { body, in_flight })))
    }
}

pin_project! {
    /// A body whose request is in flight until it is dropped.
    #[derive(Debug)]
    pub(super) struct Counted<B> {
        #[pin]
        body: B,
        in_flight: Option<InFlight>,
    }
}

impl<B: Body> Body for Counted<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let frame = self.project().body.poll_frame(cx);
        match frame.is_ready() {
            true => streams::hand_out(),
            false => streams::wait(),
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
