//! The body of an answer, which may not take for ever.

use std::{
    error::Error,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Duration, Instant};
use tower_affinity::respond::UpstreamFault;

use super::{
    UpstreamError,
    body::{EndsUpload, Passed},
    link::Link,
    shared::Place,
    timeouts::{EndpointTimeouts, TimeoutKind},
    timer::Timer,
};

/// The body of an endpoint's answer, without trailers that only a head may hold.
///
/// It breaks if it brings nothing for too long, or does not end in time. It is never cut short
/// as if it were whole. Dropped before its end it closes the connection.
pub struct AnswerBody {
    /// What was there along with the head.
    first: Option<Bytes>,
    rest: Passed<Incoming>,
    source: Source,
    waits: Waits,
    timeouts: Arc<EndpointTimeouts>,
}

/// Who brings what is not there yet.
pub(super) enum Source {
    /// Nobody: all of it is there.
    Whole,
    /// The connection, which nobody else drives.
    Link(Box<dyn Link>),
    /// Nobody: it has broken off.
    Broken(hyper::Error),
    /// A task. The upload and the place end with the body.
    Task {
        held: Option<(Option<EndsUpload>, Option<Place>)>,
        timer: Timer,
    },
}

/// How long the next piece may take.
#[derive(Debug, Default)]
struct Waits {
    idle: Option<Duration>,
    end: Option<Instant>,
    /// Until when it is waited for at present.
    until: Option<(Instant, TimeoutKind)>,
}

impl AnswerBody {
    pub(super) fn new(
        incoming: Incoming,
        source: Source,
        idle: Option<Duration>,
        end: Option<Instant>,
        timeouts: Arc<EndpointTimeouts>,
    ) -> Self {
        let mut body = Self {
            first: None,
            rest: Passed::new(incoming),
            source,
            waits: Waits {
                idle,
                end,
                until: None,
            },
            timeouts,
        };
        body.take_whole();
        body
    }

    /// Takes a body that is there already out of the hands of its connection, which is free then.
    fn take_whole(&mut self) {
        let Source::Link(link) = &self.source else {
            return;
        };
        // one of unknown length may have trailers besides
        if link.is_free() && self.rest.size_hint().exact().is_some() {
            let mut cx = Context::from_waker(Waker::noop());
            if let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut self.rest).poll_frame(&mut cx) {
                self.first = frame.into_data().ok();
            }
            self.settle();
        }
    }

    /// Lets go of a connection that has nothing more to bring.
    fn settle(&mut self) {
        if let Source::Link(link) = &self.source
            && (link.is_free() || !link.is_open())
            && let Source::Link(link) = std::mem::replace(&mut self.source, Source::Whole)
            && link.is_free()
        {
            link.give_back();
        }
    }

    fn poll_source(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let rest = Pin::new(&mut self.rest);
        match &mut self.source {
            Source::Whole => rest.poll_frame(cx),
            Source::Broken(_) => match std::mem::replace(&mut self.source, Source::Whole) {
                Source::Broken(error) => Poll::Ready(Some(Err(error))),
                _ => Poll::Ready(None),
            },
            Source::Link(link) => {
                // only the connection brings more, and it is asked here
                let mut own = Context::from_waker(Waker::noop());
                let mut frame = rest.poll_frame(&mut own);
                if frame.is_pending() {
                    link.drive();
                    frame = Pin::new(&mut self.rest).poll_frame(&mut own);
                }
                match frame {
                    Poll::Pending => link.wait(cx.waker()),
                    Poll::Ready(Some(Err(error))) => {
                        // what came before it is written first, which the break would prevent
                        self.source = Source::Broken(error);
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    Poll::Ready(_) => self.settle(),
                }
                frame
            }
            Source::Task { held, .. } => {
                let frame = ready!(rest.poll_frame(cx));
                if frame.is_none() {
                    *held = None;
                }
                Poll::Ready(frame)
            }
        }
    }
}

impl Source {
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

    /// Waits for a moment, after the source was asked for more.
    fn poll_until(&mut self, until: Instant, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Whole | Self::Broken(_) => Poll::Pending,
            Self::Link(link) => link.poll_until(until),
            Self::Task { timer, .. } => timer.poll(until, cx),
        }
    }
}

impl Waits {
    fn is_late(&self) -> bool {
        self.end.is_some_and(|end| end <= Instant::now())
    }

    /// Until when the next piece may take, and why. Counted from the first time that nothing was
    /// there: while the client took what there was, nobody waited.
    fn until(&mut self) -> Option<(Instant, TimeoutKind)> {
        if self.until.is_none() {
            let idle = self.idle;
            let idle = idle.map(|idle| (Instant::now() + idle, TimeoutKind::Idle));
            let total = self.end.map(|end| (end, TimeoutKind::Total));
            self.until = idle
                .into_iter()
                .chain(total)
                .min_by_key(|(until, _)| *until);
        }
        self.until
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    /// That of the endpoint's body, or an [`UpstreamError`].
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        let kind = if this.waits.is_late() {
            TimeoutKind::Total
        } else {
            if let Some(first) = this.first.take() {
                return Poll::Ready(Some(Ok(Frame::data(first))));
            }
            if let Poll::Ready(frame) = this.poll_source(cx) {
                this.waits.until = None;
                return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
            }
            let Some((until, kind)) = this.waits.until() else {
                return Poll::Pending;
            };
            ready!(this.source.poll_until(until, cx));
            kind
        };
        this.timeouts.note(kind);
        // not again, should somebody ask on
        this.waits = Waits::default();
        let error = UpstreamError::new(UpstreamFault::Timeout);
        Poll::Ready(Some(Err(error.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let first = self.first.as_ref().map_or(0, |first| first.len() as u64);
        let rest = self.rest.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(first));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(first));
        }
        hint
    }
}

impl fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerBody")
            .field("rest", &self.rest)
            .field("waits", &self.waits)
            .finish_non_exhaustive()
    }
}
