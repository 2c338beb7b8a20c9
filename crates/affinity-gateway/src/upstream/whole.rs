//! A body that is not to be taken for whole before its end has come.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

pin_project! {
    /// A body that keeps the piece with which it has its declared length until its end has come.
    ///
    /// Over HTTP/2 more may follow, or a reset, and the request is malformed then (RFC 9113,
    /// section 8.1.1). Over HTTP/1.1 the endpoint would have had all of it by its length.
    #[derive(Debug)]
    pub(super) struct Whole<B> {
        #[pin]
        inner: B,
        // none where the length is not what ends it
        left: Option<u64>,
        kept: Option<Bytes>,
    }
}

impl<B: Body> Whole<B> {
    /// `by_length`: whether it is sent to somebody who takes its length for its end.
    pub(super) fn new(inner: B, by_length: bool) -> Self {
        let left = by_length.then(|| inner.size_hint().exact()).flatten();
        Self {
            inner,
            left,
            kept: None,
        }
    }
}

/// Whether there is nothing of it to be sent, and still its end has not come.
pub(super) fn awaits_end(body: &impl Body) -> bool {
    !body.is_end_stream() && body.size_hint().exact() == Some(0)
}

impl<B: Body> Body for Whole<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let mut this = self.project();
        loop {
            let frame = match ready!(this.inner.as_mut().poll_frame(cx)) {
                // no copy where it is one piece already
                Some(Ok(frame)) => frame.map_data(|mut data| data.copy_to_bytes(data.remaining())),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(this.kept.take().map(|data| Ok(Frame::data(data)))),
            };
            let Some(left) = this.left else {
                return Poll::Ready(Some(Ok(frame)));
            };
            let Ok(data) = frame.into_data() else {
                // with a length there is no room for trailers
                continue;
            };
            if this.kept.is_some() && !data.has_remaining() {
                continue;
            }
            let length = u64::try_from(data.remaining()).unwrap_or(u64::MAX);
            *left = left.saturating_sub(length);
            if *left > 0 || this.inner.is_end_stream() {
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            *this.kept = Some(data);
        }
    }

    fn is_end_stream(&self) -> bool {
        self.kept.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.inner.size_hint();
        if let Some(kept) = &self.kept {
            hint.set_exact(u64::try_from(kept.remaining()).unwrap_or(u64::MAX));
        }
        hint
    }
}
