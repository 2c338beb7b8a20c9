//! The body of an answer, which holds its request's place.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::lease::Lease;

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
        Endpoint { #[pin] body: B, lease: Option<Lease> },
        Own { bytes: Option<Bytes> },
    }
}

impl<B> BalanceBody<B> {
    pub(super) fn new(body: B, lease: Lease) -> Self {
        Self {
            kind: BodyKind::Endpoint {
                body,
                lease: Some(lease),
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

impl<B: Body<Data = Bytes>> Body for BalanceBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project().kind.project() {
            KindProj::Endpoint { mut body, lease } => {
                let frame = ready!(body.as_mut().poll_frame(cx));
                let goes_on = matches!(frame, Some(Ok(_))) && !body.is_end_stream();
                if !goes_on {
                    *lease = None;
                }
                Poll::Ready(frame)
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
