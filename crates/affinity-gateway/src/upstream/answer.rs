//! The body of an answer, which may not take for ever.

use std::{
    error::Error,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep};
use tower_affinity::respond::UpstreamFault;

use super::{
    UpstreamError,
    body::{EndsUpload, Passed},
    shared::Place,
    timeouts::{EndpointTimeouts, TimeoutKind},
};

pin_project! {
    /// The body of an endpoint's answer, without trailers that only a head may hold.
    ///
    /// It breaks if it brings nothing for too long, or does not end in time. It is never cut short
    /// as if it were whole.
    #[derive(Debug)]
    pub struct AnswerBody<B = Incoming> {
        #[pin]
        inner: Passed<B>,
        // there once there was something to wait for
        #[pin]
        sleep: Option<Sleep>,
        waiting: Option<TimeoutKind>,
        idle: Option<Duration>,
        end: Option<Instant>,
        timeouts: EndpointTimeouts,
        // both end with the body
        held: Option<(EndsUpload, Option<Place>)>,
    }
}

impl<B> AnswerBody<B> {
    pub(super) fn new(
        inner: B,
        idle: Option<Duration>,
        end: Option<Instant>,
        timeouts: EndpointTimeouts,
        upload: EndsUpload,
        place: Option<Place>,
    ) -> Self {
        Self {
            inner: Passed::new(inner),
            sleep: None,
            waiting: None,
            idle,
            end,
            timeouts,
            held: Some((upload, place)),
        }
    }
}

impl<B> Body for AnswerBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    /// That of the endpoint's body, or an [`UpstreamError`].
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let mut this = self.project();
        let late = this.end.is_some_and(|end| end <= Instant::now());
        let kind = if late {
            TimeoutKind::Total
        } else {
            if let Poll::Ready(frame) = this.inner.poll_frame(cx) {
                *this.waiting = None;
                if frame.is_none() {
                    *this.held = None;
                }
                return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
            }
            let kind = match *this.waiting {
                Some(kind) => kind,
                // Counted from here: while the client took what there was, nobody waited.
                None => {
                    let idle = this
                        .idle
                        .map(|idle| (Instant::now() + idle, TimeoutKind::Idle));
                    let total = this.end.map(|end| (end, TimeoutKind::Total));
                    let Some((until, kind)) = idle
                        .into_iter()
                        .chain(total)
                        .min_by_key(|(until, _)| *until)
                    else {
                        return Poll::Pending;
                    };
                    match this.sleep.as_mut().as_pin_mut() {
                        Some(sleep) => sleep.reset(until),
                        None => this.sleep.set(Some(tokio::time::sleep_until(until))),
                    }
                    *this.waiting = Some(kind);
                    kind
                }
            };
            match this.sleep.as_pin_mut().map(|sleep| sleep.poll(cx)) {
                Some(Poll::Ready(())) => kind,
                Some(Poll::Pending) | None => return Poll::Pending,
            }
        };
        this.timeouts.note(kind);
        // not again, should somebody ask on
        (*this.end, *this.idle, *this.waiting) = (None, None, None);
        let error = UpstreamError::new(UpstreamFault::Timeout);
        Poll::Ready(Some(Err(error.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
