//! The body of an answer, which may not take for ever.

use std::{
    fmt, mem,
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

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body of an endpoint's answer, without trailers that only a head may hold.
///
/// It breaks if it brings nothing for too long, or does not end in time. It is never cut short
/// as if it were whole. Dropped before its end it closes the connection.
pub struct AnswerBody(Kind);

enum Kind {
    /// All of it was there along with the head.
    Whole(Bytes),
    /// Boxed, or its room would be moved with every answer.
    Coming(Box<Coming>),
}

/// A body that has to be waited for.
struct Coming {
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
        timeouts: &Arc<EndpointTimeouts>,
    ) -> Self {
        let mut rest = Passed::new(body);
        let first = source.whole(&mut rest);
        let patience = patience(&source);
        if matches!(source, Source::Whole) && rest.is_end_stream() && patience.is_endless() {
            return Self(Kind::Whole(first.unwrap_or_default()));
        }
        Self(Kind::Coming(Box::new(Coming {
            first,
            rest,
            source,
            patience,
            timeouts: Arc::clone(timeouts),
        })))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    /// That of the endpoint's body, or an [`UpstreamError`].
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match &mut self.get_mut().0 {
            Kind::Whole(data) => {
                let data = mem::take(data);
                Poll::Ready((!data.is_empty()).then(|| Ok(Frame::data(data))))
            }
            Kind::Coming(coming) => coming.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(data) => data.is_empty(),
            Kind::Coming(coming) => coming.first.is_none() && coming.rest.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(data) => SizeHint::with_exact(data.len() as u64),
            Kind::Coming(coming) => coming.size_hint(),
        }
    }
}

impl Coming {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let kind = if self.patience.is_over() {
            TimeoutKind::Total
        } else {
            if let Some(first) = self.first.take() {
                return Poll::Ready(Some(Ok(Frame::data(first))));
            }
            if let Poll::Ready(frame) = self.source.poll_frame(&mut self.rest, cx) {
                self.patience.rest();
                return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
            }
            let source = &mut self.source;
            ready!(self.patience.poll(|until| source.poll_until(until, cx)))
        };
        self.timeouts.note(kind);
        // not again, should somebody ask on
        self.patience = Patience::default();
        let error = UpstreamError::new(UpstreamFault::Timeout);
        Poll::Ready(Some(Err(error.into())))
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
            .field("is_whole", &matches!(self.0, Kind::Whole(_)))
            .finish_non_exhaustive()
    }
}
