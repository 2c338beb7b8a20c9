//! Bodies on their way through: what is noted of them and what is kept out.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http::{HeaderMap, HeaderName, header};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Duration, Instant};

use super::{forwarded::is_twin, hop, whole::Whole};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

pin_project! {
    /// A body without the trailers that only a head may hold.
    ///
    /// The layers clean heads; a trailer would be a second way in or out.
    #[derive(Debug)]
    pub(super) struct Passed<B> {
        #[pin]
        inner: B,
    }
}

/// The body of a request, if there is one to send.
///
/// Boxed: most requests have none, and its room would be moved with every request, and again with
/// every answer, in whose place a request that was not sent comes back.
#[derive(Debug)]
pub(super) struct Forwarded<B>(Option<Box<Upload<B>>>);

/// A body that notes its progress.
#[derive(Debug)]
struct Upload<B> {
    body: Passed<Whole<B>>,
    progress: Progress,
}

/// When the body last moved, and whether it broke. A clone is another view of the same body.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    start: Instant,
    moved: Arc<Moved>,
}

#[derive(Debug, Default)]
struct Moved {
    last: AtomicU64,
    broke: AtomicBool,
    sent: AtomicBool,
    over: AtomicBool,
    waits: AtomicBool,
    sender: AtomicWaker,
}

/// Ends the upload when it is dropped: the answer is over, and nobody waits for the rest.
#[derive(Debug)]
pub(super) struct EndsUpload(pub(super) Progress);

/// The answer was over before the request's body.
#[derive(Debug, thiserror::Error)]
#[error("the answer was over before the body of the request")]
struct Over;

impl Drop for EndsUpload {
    fn drop(&mut self) {
        self.0.moved.over.store(true, Ordering::Release);
        self.0.moved.sender.wake();
    }
}

impl<B: Body> Forwarded<B> {
    /// `by_length`: whether it goes to somebody who takes its length for its end. Its progress, too,
    /// unless there is nothing to send.
    pub(super) fn new(body: B, by_length: bool, now: Instant) -> (Self, Option<Progress>) {
        if body.is_end_stream() {
            return (Self(None), None);
        }
        let progress = Progress::begin(now);
        let upload = Upload {
            body: Passed::new(Whole::new(body, by_length)),
            progress: progress.clone(),
        };
        (Self(Some(Box::new(upload))), Some(progress))
    }
}

impl<B> Passed<B> {
    pub(super) fn new(inner: B) -> Self {
        Self { inner }
    }
}

impl<B: Body> Body for Passed<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut frame = ready!(self.project().inner.poll_frame(cx));
        if let Some(Ok(frame)) = &mut frame
            && let Some(trailers) = frame.trailers_mut()
        {
            remove_unfit(trailers);
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

impl<B> Body for Forwarded<B>
where
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    /// An error never looks like the body's end: what was sent of it is seen to be short.
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let Some(Upload { body, progress }) = self.get_mut().0.as_deref_mut() else {
            return Poll::Ready(None);
        };
        let frame = Pin::new(&mut *body).poll_frame(cx);
        let moved = &progress.moved;
        let Poll::Ready(frame) = frame else {
            moved.waits.store(true, Ordering::Release);
            moved.sender.register(cx.waker());
            if moved.over.load(Ordering::Acquire) {
                return Poll::Ready(Some(Err(Over.into())));
            }
            return Poll::Pending;
        };
        moved.waits.store(false, Ordering::Release);
        progress.note();
        if matches!(frame, Some(Err(_))) {
            moved.broke.store(true, Ordering::Release);
        }
        if frame.is_none() || body.is_end_stream() {
            moved.sent.store(true, Ordering::Release);
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        let upload = self.0.as_ref();
        upload.is_none_or(|upload| upload.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let upload = self.0.as_ref();
        upload.map_or_else(|| SizeHint::with_exact(0), |upload| upload.body.size_hint())
    }
}

impl Progress {
    pub(super) fn begin(start: Instant) -> Self {
        Self {
            start,
            moved: Arc::default(),
        }
    }

    pub(super) fn last(&self) -> Instant {
        self.start + Duration::from_millis(self.moved.last.load(Ordering::Relaxed))
    }

    /// Whether all of it was taken to be sent.
    pub(super) fn is_sent(&self) -> bool {
        self.moved.sent.load(Ordering::Acquire)
    }

    /// Whether the body's own sender is to blame for its end.
    pub(super) fn broke(&self) -> bool {
        self.moved.broke.load(Ordering::Acquire)
    }

    /// Whether the endpoint would take more of the body, and the client sends nothing.
    pub(super) fn waits(&self) -> bool {
        self.moved.waits.load(Ordering::Acquire)
    }

    fn note(&self) {
        let passed = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved.last.store(passed, Ordering::Relaxed);
    }
}

/// Our names, also with another sign for a hyphen, which some endpoints take for one; and cookies,
/// addresses and what belongs to a connection, which endpoints that join trailers to the head would believe.
pub(super) fn remove_unfit(trailers: &mut HeaderMap) {
    hop::strip(trailers);
    let unfit: Vec<_> = trailers
        .keys()
        .filter(|name| {
            tower_affinity::tag::is_ours(name)
                || name.as_str().starts_with("x-forwarded-")
                || is_twin(name)
                || HEAD_ONLY.contains(name)
        })
        .cloned()
        .collect();
    for name in &unfit {
        trailers.remove(name);
    }
}

const HEAD_ONLY: [HeaderName; 4] = [
    header::AUTHORIZATION,
    header::COOKIE,
    header::FORWARDED,
    header::SET_COOKIE,
];
