//! The body of a pod's answers.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Frame, SizeHint};

/// Any body; a whole one can be made of bytes, as a layer that answers by itself does.
#[derive(Debug)]
pub(crate) struct Answer(UnsyncBoxBody<Bytes, Infallible>);

impl Answer {
    pub(crate) fn new(body: impl Body<Data = Bytes, Error = Infallible> + Send + 'static) -> Self {
        Self(body.boxed_unsync())
    }
}

impl From<Bytes> for Answer {
    fn from(content: Bytes) -> Self {
        Self::new(Full::new(content))
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.0).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}
