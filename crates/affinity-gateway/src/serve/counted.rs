//! The body of an answer, which counts for its connection.

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::activity::InFlight;
use super::streams;

pin_project! {
    /// A body whose request is in flight until it is dropped.
    #[derive(Debug)]
    pub(super) struct Counted<B> {
        #[pin]
        body: B,
        in_flight: Option<InFlight>,
    }
}

impl<B> Counted<B> {
    pub(super) fn new(body: B, in_flight: Option<InFlight>) -> Self {
        Self { body, in_flight }
    }
}

impl<B: Body> Body for Counted<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let frame = self.project().body.poll_frame(cx);
        match frame.is_ready() {
            true => streams::hand_out(),
            false => streams::wait(),
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
