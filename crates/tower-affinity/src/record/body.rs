//! The body of an answer, which counts its request when it ends.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::running::Running;
use super::series::CodeClass;

pin_project! {
    /// A body whose request is counted when it ends, breaks or is dropped.
    #[derive(Debug)]
    pub struct MetricsBody<B> {
        #[pin]
        inner: B,
        running: Option<Running>,
        class: CodeClass,
        // how much is left, where that is known: then nobody has to ask for the end.
        left: Option<u64>,
    }
}

impl<B: Body> MetricsBody<B> {
    pub(super) fn new(inner: B, running: Option<Running>, class: CodeClass) -> Self {
        Self {
            left: inner.size_hint().exact(),
            inner,
            running,
            class,
        }
    }
}

/// The body of an answer that is counted elsewhere.
impl<B: From<Bytes>> From<Bytes> for MetricsBody<B> {
    fn from(bytes: Bytes) -> Self {
        Self {
            inner: B::from(bytes),
            running: None,
            class: CodeClass::Success,
            left: None,
        }
    }
}

impl<B: From<Bytes>> Default for MetricsBody<B> {
    fn default() -> Self {
        Self::from(Bytes::new())
    }
}

impl<B> Body for MetricsBody<B>
where
    B: Body,
    B::Error: 'static,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.inner.as_mut().poll_frame(cx));
        let ended = match &frame {
            Some(Ok(frame)) => {
                if let Some(class) = frame.trailers_ref().and_then(CodeClass::of_grpc) {
                    *this.class = class;
                }
                let len = frame.data_ref().map_or(0, |data| data.remaining() as u64);
                *this.left = this.left.map(|left| left.saturating_sub(len));
                if let Some(running) = this.running.as_mut() {
                    running.gave(len);
                    if *this.left == Some(0) {
                        running.is_whole(*this.class);
                    }
                }
                this.inner.is_end_stream().then_some(*this.class)
            }
            Some(Err(error)) => Some(CodeClass::of_broken(error)),
            None => Some(*this.class),
        };
        if let Some(class) = ended
            && let Some(running) = this.running.take()
        {
            running.end(class);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
