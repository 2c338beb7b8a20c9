//! Who brings the body of an answer.

use std::{
    pin::Pin,
    task::{Context, Poll, Waker, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame};
use hyper::body::Incoming;
use tokio::time::Instant;

use super::{
    body::{EndsUpload, Passed},
    link::Link,
    shared::Place,
    timer::Timer,
};

/// Who brings what of a body is not there yet.
pub(super) enum Source {
    /// Nobody: all of it is there.
    Whole,
    /// The connection, which nobody else drives.
    Link(Box<dyn Link>),
    /// Nobody: the connection has broken off.
    Broken(hyper::Error),
    /// A task. The upload and the place end with the body.
    Task {
        held: Option<(Option<EndsUpload>, Option<Place>)>,
        timer: Timer,
    },
}

impl Source {
    /// Takes a body that is there already, all in one piece, so that its connection need not wait
    /// until the client has it.
    pub(super) fn whole(&mut self, body: &mut Passed<Incoming>) -> Option<Bytes> {
        let Self::Link(link) = self else {
            return None;
        };
        // one of unknown length may have trailers besides
        if !link.is_free() || body.size_hint().exact().is_none() {
            return None;
        }
        let piece = Pin::new(body).poll_frame(&mut Context::from_waker(Waker::noop()));
        self.settle();
        match piece {
            Poll::Ready(Some(Ok(frame))) => frame.into_data().ok(),
            _ => None,
        }
    }

    /// The next piece of `body`.
    pub(super) fn poll_frame(
        &mut self,
        body: &mut Passed<Incoming>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self {
            Self::Whole => Pin::new(body).poll_frame(cx),
            Self::Broken(_) => match std::mem::replace(self, Self::Whole) {
                Self::Broken(error) => Poll::Ready(Some(Err(error))),
                _ => Poll::Ready(None),
            },
            Self::Link(link) => {
                // only the connection brings more, and it is asked here
                let mut own = Context::from_waker(Waker::noop());
                let mut frame = Pin::new(&mut *body).poll_frame(&mut own);
                if frame.is_pending() {
                    link.drive();
                    frame = Pin::new(body).poll_frame(&mut own);
                }
                match frame {
                    Poll::Pending => link.wait(cx.waker()),
                    Poll::Ready(Some(Err(error))) => {
                        // what came before it is written first, which the break would prevent
                        *self = Self::Broken(error);
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    Poll::Ready(_) => self.settle(),
                }
                frame
            }
            Self::Task { held, .. } => {
                let frame = ready!(Pin::new(body).poll_frame(cx));
                if frame.is_none() {
                    *held = None;
                }
                Poll::Ready(frame)
            }
        }
    }

    /// Waits for a moment, after the next piece was asked for.
    pub(super) fn poll_until(&mut self, until: Instant, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Whole | Self::Broken(_) => Poll::Pending,
            Self::Link(link) => link.poll_until(until),
            Self::Task { timer, .. } => timer.poll(until, cx),
        }
    }

    /// What is left of it once its connection carries something else, and the place on that.
    pub(super) fn switched(self) -> (Self, Option<Place>) {
        match self {
            Self::Whole | Self::Broken(_) => (self, None),
            Self::Link(link) => {
                if link.is_open() {
                    link.run();
                }
                (Self::Whole, None)
            }
            Self::Task { held, timer } => {
                let (upload, place) = held.unwrap_or_default();
                let held = Some((upload, None));
                (Self::Task { held, timer }, place)
            }
        }
    }

    /// Lets go of a connection that has nothing more to bring.
    fn settle(&mut self) {
        if let Self::Link(link) = self
            && (link.is_free() || !link.is_open())
            && let Self::Link(link) = std::mem::replace(self, Self::Whole)
            && link.is_free()
        {
            link.give_back();
        }
    }
}
