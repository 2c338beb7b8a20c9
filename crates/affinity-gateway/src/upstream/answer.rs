//! The body of an answer, which may not take for ever.

use std::{
    error::Error,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tower_affinity::respond::UpstreamFault;

use super::{
    UpstreamError,
    body::Passed,
    deadline::Patience,
    source::Source,
    timeouts::{EndpointTimeouts, TimeoutKind},
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
    patience: Patience,
    timeouts: Arc<EndpointTimeouts>,
}

impl AnswerBody {
    /// `patience` is for what is not there yet.
    pub(super) fn new(
        body: Incoming,
        mut source: Source,
        patience: impl FnOnce(&Source) -> Patience,
        timeouts: Arc<EndpointTimeouts>,
    ) -> Self {
        let mut rest = Passed::new(body);
        let first = source.whole(&mut rest);
        Self {
            first,
            rest,
            patience: patience(&source),
            source,
            timeouts,
        }
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
        let kind = if this.patience.is_over() {
            TimeoutKind::Total
        } else {
            if let Some(first) = this.first.take() {
                return Poll::Ready(Some(Ok(Frame::data(first))));
            }
            if let Poll::Ready(frame) = this.source.poll_frame(&mut this.rest, cx) {
                this.patience.rest();
                return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
            }
            let source = &mut this.source;
            ready!(this.patience.poll(|until| source.poll_until(until, cx)))
        };
        this.timeouts.note(kind);
        // not again, should somebody ask on
        this.patience = Patience::default();
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
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}
