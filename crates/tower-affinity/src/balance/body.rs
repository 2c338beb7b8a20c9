//! The body of an answer, which holds its request's place.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::cut::{Cut, StreamCut};
use super::lease::Lease;
use super::trailers;
use crate::BoxError;

pin_project! {
    /// An endpoint's body that holds the request's [`Lease`] until it ends, breaks or is dropped;
    /// or bytes of an answer that we made ourselves.
    ///
    /// It is `From<Bytes>` whatever the endpoint's body is, so that layers can answer themselves.
    #[derive(Debug)]
    pub struct BalanceBody<B> {
        #[pin]
        kind: BodyKind<B>,
    }
}

pin_project! {
    #[project = KindProj]
    #[derive(Debug)]
    enum BodyKind<B> {
        Endpoint { #[pin] body: B, held: Option<Cut> },
        Own { bytes: Option<Bytes> },
    }
}

impl<B> BalanceBody<B> {
    pub(super) fn new(body: B, lease: Lease) -> Self {
        Self {
            kind: BodyKind::Endpoint {
                body,
                held: Some(Cut::of(lease)),
            },
        }
    }
}

impl<B> From<Bytes> for BalanceBody<B> {
    fn from(bytes: Bytes) -> Self {
        let bytes = Some(bytes).filter(|bytes| !bytes.is_empty());
        Self {
            kind: BodyKind::Own { bytes },
        }
    }
}

impl<B> Default for BalanceBody<B> {
    fn default() -> Self {
        Self::from(Bytes::new())
    }
}

impl<B> Body for BalanceBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    /// That of the endpoint's body, or [`StreamCut`].
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.project().kind.project() {
            KindProj::Endpoint { mut body, held } => {
                if held.as_ref().is_some_and(Cut::is_due) {
                    *held = None;
                    return Poll::Ready(Some(Err(StreamCut.into())));
                }
                let Poll::Ready(frame) = body.as_mut().poll_frame(cx) else {
                    // what has to be waited for can be cut while it waits
                    let cut = held
                        .as_mut()
                        .is_some_and(|cut| Pin::new(cut).poll(cx).is_ready());
                    if !cut {
                        return Poll::Pending;
                    }
                    *held = None;
                    return Poll::Ready(Some(Err(StreamCut.into())));
                };
                let goes_on = matches!(frame, Some(Ok(_))) && !body.is_end_stream();
                if !goes_on {
                    *held = None;
                }
                Poll::Ready(frame.map(|frame| frame.map(trailers::cleaned).map_err(Into::into)))
            }
            KindProj::Own { bytes } => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            BodyKind::Endpoint { body, .. } => body.is_end_stream(),
            BodyKind::Own { bytes } => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            BodyKind::Endpoint { body, .. } => body.size_hint(),
            BodyKind::Own { bytes } => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
        }
    }
}
