//! [`ReplayBody`]: a request's body that can be sent again.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use thiserror::Error;

use super::kept::Kept;
use super::trailers;
use crate::BoxError;

/// The body of a request as a leaf gets it: it streams, and what went through is kept for another
/// attempt, up to a limit.
///
/// At any time one attempt sends the body. The body of an earlier one fails from then on, so that
/// no connection ever carries a mixture of two attempts, or a short body that looks whole.
#[derive(Debug)]
pub struct ReplayBody<B>(Kind<B>);

/// The body of an attempt that was given up: it must not be sent on.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the attempt was given up")]
pub struct Superseded;

/// What makes a body for each attempt of one request.
#[derive(Debug)]
pub(super) enum Replay<B> {
    /// There is nothing to send, however often.
    Empty,
    Shared(Arc<Mutex<Source<B>>>),
}

#[derive(Debug)]
enum Kind<B> {
    Empty,
    Once(B),
    Shared {
        source: Arc<Mutex<Source<B>>>,
        attempt: u32,
        /// How many of the kept frames this attempt has sent.
        sent: usize,
    },
}

/// The one body behind all attempts.
#[derive(Debug)]
pub(super) struct Source<B> {
    body: B,
    kept: Kept,
    /// The attempt that may send.
    attempt: u32,
    ended: bool,
}

impl<B: Body<Data = Bytes>> Replay<B> {
    /// The first attempt's body, of which at most `limit` bytes are kept for further ones.
    ///
    /// A body without content needs no room, and one that says that it is longer is not kept.
    pub(super) fn begin(body: B, limit: usize) -> (Self, ReplayBody<B>) {
        if body.is_end_stream() {
            return (Self::Empty, ReplayBody(Kind::Empty));
        }
        let kept = Kept::new(limit, body.size_hint().lower());
        let source = Arc::new(Mutex::new(Source {
            body,
            kept,
            attempt: 0,
            ended: false,
        }));
        let first = ReplayBody::of(&source, 0);
        (Self::Shared(source), first)
    }

    /// The body for another attempt, which ends that of the one before; `None` if what went
    /// through was not kept.
    pub(super) fn again(&self) -> Option<ReplayBody<B>> {
        match self {
            Self::Empty => Some(ReplayBody(Kind::Empty)),
            Self::Shared(source) => {
                let mut shared = lock(source);
                if !shared.kept.is_whole() {
                    return None;
                }
                shared.attempt += 1;
                Some(ReplayBody::of(source, shared.attempt))
            }
        }
    }

    /// Whether the body can be sent from its beginning, so that [`Replay::again`] gives one.
    pub(super) fn is_whole(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Shared(source) => lock(source).kept.is_whole(),
        }
    }

    /// Whether no attempt has taken anything of the body.
    pub(super) fn is_untouched(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Shared(source) => {
                let shared = lock(source);
                shared.kept.is_untouched() && !shared.ended
            }
        }
    }
}

impl<B> ReplayBody<B> {
    /// The body of an only attempt: nothing of it is kept.
    pub(super) fn once(body: B) -> Self {
        Self(Kind::Once(body))
    }

    fn of(source: &Arc<Mutex<Source<B>>>, attempt: u32) -> Self {
        Self(Kind::Shared {
            source: Arc::clone(source),
            attempt,
            sent: 0,
        })
    }
}

impl<B> Body for ReplayBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    /// That of the body, or [`Superseded`].
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = match &mut self.get_mut().0 {
            Kind::Empty => Poll::Ready(None),
            Kind::Once(body) => Pin::new(body)
                .poll_frame(cx)
                .map(|frame| frame.map(|frame| frame.map_err(Into::into))),
            Kind::Shared {
                source,
                attempt,
                sent,
            } => {
                let mut source = lock(source);
                if source.attempt != *attempt {
                    return Poll::Ready(Some(Err(Superseded.into())));
                }
                source.poll_frame(sent, cx)
            }
        };
        frame.map(|frame| frame.map(|frame| frame.map(trailers::cleaned)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Empty => true,
            Kind::Once(body) => body.is_end_stream(),
            Kind::Shared {
                source,
                attempt,
                sent,
            } => {
                let source = lock(source);
                source.attempt == *attempt
                    && *sent >= source.kept.frames()
                    && (source.ended || source.body.is_end_stream())
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Once(body) => body.size_hint(),
            Kind::Shared {
                source,
                attempt,
                sent,
            } => {
                let source = lock(source);
                if source.attempt != *attempt {
                    // more is to come, so that nobody takes it for whole
                    return SizeHint::default();
                }
                let again = source.kept.bytes_from(*sent);
                let rest = source.body.size_hint();
                let mut hint = SizeHint::new();
                hint.set_lower(rest.lower().saturating_add(again));
                if let Some(upper) = rest.upper() {
                    hint.set_upper(upper.saturating_add(again));
                }
                hint
            }
        }
    }
}

impl<B> Source<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    fn poll_frame(
        &mut self,
        sent: &mut usize,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(frame) = self.kept.frame(*sent) {
            *sent += 1;
            return Poll::Ready(Some(Ok(frame)));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
            return Poll::Pending;
        };
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                if self.kept.keep(&frame) {
                    *sent += 1;
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => {
                // what is broken is not sent again
                self.kept.forget();
                Some(Err(error.into()))
            }
            None => {
                self.ended = true;
                None
            }
        })
    }
}

fn lock<B>(source: &Mutex<Source<B>>) -> MutexGuard<'_, Source<B>> {
    // a body that panicked in another attempt fails or goes on as it would have there
    source.lock().unwrap_or_else(PoisonError::into_inner)
}
