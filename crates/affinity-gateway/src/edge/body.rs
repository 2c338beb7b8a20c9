//! The body of an answer, which holds its request's place.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::requests::Place;

pin_project! {
    /// A body during which its request is in flight: until it is dropped, as servers do once it has
    /// ended or the client has left.
    #[derive(Debug)]
    pub struct EdgeBody<B> {
        #[pin]
        inner: B,
        place: Option<Place>,
    }
}

impl<B> EdgeBody<B> {
    pub(super) fn new(inner: B, place: Option<Place>) -> Self {
        Self { inner, place }
    }
}

impl<B: From<Bytes>> From<Bytes> for EdgeBody<B> {
    fn from(bytes: Bytes) -> Self {
        Self::new(bytes.into(), None)
    }
}

impl<B: Body> Body for EdgeBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().inner.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
