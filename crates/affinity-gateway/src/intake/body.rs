//! A body that breaks where it goes beyond its limits.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Instant, Sleep};

use super::BodyLimits;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What was wrong with a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyFault {
    #[error("the body of the request is too long")]
    TooLong,
    #[error("the body of the request did not come in time")]
    TooSlow,
}

/// Tells who answers what became of the body. A clone is another view of the same body.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdict(Arc<AtomicU8>);

impl Verdict {
    pub(super) fn set(&self, fault: BodyFault) {
        let number = match fault {
            BodyFault::TooLong => 1,
            BodyFault::TooSlow => 2,
        };
        self.0.store(number, Ordering::Release);
    }

    pub(super) fn get(&self) -> Option<BodyFault> {
        match self.0.load(Ordering::Acquire) {
            1 => Some(BodyFault::TooLong),
            2 => Some(BodyFault::TooSlow),
            _ => None,
        }
    }
}

pin_project! {
    /// A body of a limited length whose pauses are limited as well.
    ///
    /// Time counts only while somebody waits for the body: an endpoint that takes nothing is not
    /// the client's fault.
    #[derive(Debug)]
    pub(crate) struct Bounded<B> {
        #[pin]
        inner: B,
        // boxed: most requests have no body, and all are moved from layer to layer
        bounds: Option<Box<Bounds>>,
    }
}

/// What a body may still bring.
#[derive(Debug)]
struct Bounds {
    left: u64,
    limits: Arc<BodyLimits>,
    // made at the first pause: most bodies have none
    timer: Option<Pin<Box<Sleep>>>,
    pausing: bool,
    verdict: Verdict,
}

impl<B> Bounded<B> {
    pub(super) fn new(inner: B, most: u64, limits: Arc<BodyLimits>, verdict: Verdict) -> Self {
        let bounds = Bounds {
            left: most,
            limits,
            timer: None,
            pausing: false,
            verdict,
        };
        Self {
            inner,
            bounds: Some(Box::new(bounds)),
        }
    }

    /// A body that brings nothing.
    pub(super) fn ended(inner: B) -> Self {
        Self {
            inner,
            bounds: None,
        }
    }
}

impl Bounds {
    /// Takes so many bytes of a body; `is_data` unless they are its trailers.
    fn take(&mut self, length: usize, is_data: bool) -> Result<(), BodyFault> {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        // empty frames keep nobody's patience up
        self.pausing &= length == 0 && is_data;
        let left = self.left.checked_sub(length);
        self.left = left.ok_or(BodyFault::TooLong)?;
        Ok(())
    }

    /// Waits for the end of the patience with a body that brings nothing.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<BodyFault> {
        let patience = self.limits.patience;
        let timer = match (self.timer.as_mut(), self.pausing) {
            (Some(timer), true) => timer,
            (Some(timer), false) => {
                timer.as_mut().reset(Instant::now() + patience);
                timer
            }
            (None, _) => self.timer.insert(Box::pin(tokio::time::sleep(patience))),
        };
        self.pausing = true;
        timer.as_mut().poll(cx).map(|()| BodyFault::TooSlow)
    }
}

impl<B> Body for Bounded<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.project();
        let polled = this.inner.poll_frame(cx);
        let Some(bounds) = this.bounds else {
            return polled.map(|end| end.map(|frame| frame.map_err(Into::into)));
        };
        let fault = match polled {
            Poll::Ready(Some(Ok(frame))) => {
                let length = frame.data_ref().map_or(0, Buf::remaining);
                match bounds.take(length, frame.is_data()) {
                    Ok(()) => return Poll::Ready(Some(Ok(frame))),
                    Err(fault) => fault,
                }
            }
            Poll::Ready(end) => return Poll::Ready(end.map(|frame| frame.map_err(Into::into))),
            Poll::Pending => ready!(bounds.poll_patience(cx)),
        };
        tracing::debug!(%fault, "a request was broken off");
        (bounds.limits.told)(fault);
        bounds.verdict.set(fault);
        Poll::Ready(Some(Err(fault.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
