//! The body, and the reading of what is left of it.

use std::{
    future::{pending, poll_fn},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use tokio::{runtime::Handle, time::timeout};

use super::DiscardLimits;

/// A body of which a little more is read should it be dropped before its end.
#[derive(Debug)]
pub(crate) struct DiscardBody<B>
where
    B: Body + Send + Unpin + 'static,
{
    /// Until it has ended.
    inner: Option<B>,
    /// `None` if there is nothing to read on.
    limits: Option<Arc<DiscardLimits>>,
    /// Whether the client sends it only once it is asked to, which the first look at it does.
    unasked: bool,
}

impl<B> DiscardBody<B>
where
    B: Body + Send + Unpin + 'static,
{
    /// `unasked`: whether the client waits for `100 Continue` (RFC 9110, section 10.1.1).
    pub(super) fn new(inner: B, limits: &Arc<DiscardLimits>, unasked: bool) -> Self {
        let limits = (!inner.is_end_stream()).then(|| Arc::clone(limits));
        Self {
            inner: Some(inner),
            limits,
            unasked,
        }
    }
}

impl<B> Body for DiscardBody<B>
where
    B: Body + Send + Unpin + 'static,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        self.unasked = false;
        let Some(inner) = &mut self.inner else {
            return Poll::Ready(None);
        };
        let frame = ready!(Pin::new(inner).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.inner = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let inner = self.inner.as_ref();
        inner.map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl<B> Drop for DiscardBody<B>
where
    B: Body + Send + Unpin + 'static,
{
    fn drop(&mut self) {
        let (Some(body), Some(limits)) = (self.inner.take(), self.limits.take()) else {
            return;
        };
        if self.unasked || body.is_end_stream() {
            return;
        }
        let mut rest = Rest {
            left: limits.bytes,
            body,
        };
        // often its end has come already, or its client is gone
        let now = rest.poll(&mut Context::from_waker(Waker::noop()));
        if now == Poll::Ready(End::Over) {
            return;
        }
        // without a runtime there is no connection
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(rest.read(limits));
        }
    }
}

/// What is left of a body.
struct Rest<B> {
    body: B,
    left: usize,
}

/// Where the reading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// To the body's end, or its client is gone.
    Over,
    /// Beyond the most that is read.
    Most,
}

impl<B: Body + Unpin> Rest<B> {
    /// Beyond the most, the client is held by flow control: it has the time that is left to see the
    /// answer.
    async fn read(mut self, limits: Arc<DiscardLimits>) {
        let over = async {
            if poll_fn(|cx| self.poll(cx)).await == End::Most {
                pending::<()>().await;
            }
        };
        if timeout(limits.time, over).await.is_err() {
            tracing::debug!("the rest of a request's body is not read");
            (limits.told)();
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        while let Some(Ok(frame)) = ready!(Pin::new(&mut self.body).poll_frame(cx)) {
            // an empty frame counts as well: there must not be any number of them
            let length = frame.data_ref().map_or(0, Buf::remaining).max(1);
            let left = self.left.checked_sub(length);
            self.left = left.unwrap_or(0);
            if left.is_none() {
                return Poll::Ready(End::Most);
            }
        }
        Poll::Ready(End::Over)
    }
}
