//! Bodies on their way through: what is noted of them and what is kept out.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use http::{HeaderMap, HeaderName, header};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::{Duration, Instant};

use super::hop;

pin_project! {
    /// The body of an answer: the endpoint's, but for trailers that only a head may hold.
    ///
    /// The layers clean heads; a trailer would be a second way in or out.
    #[derive(Debug)]
    pub struct Passed<B> {
        #[pin]
        inner: B,
    }
}

pin_project! {
    /// The body of a request, which notes its progress.
    #[derive(Debug)]
    pub(super) struct Forwarded<B> {
        #[pin]
        inner: Passed<B>,
        progress: Progress,
    }
}

/// When the body last moved. A clone is another view of the same body.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    start: Instant,
    last: Arc<AtomicU64>,
}

impl<B> Forwarded<B> {
    pub(super) fn new(inner: B, progress: Progress) -> Self {
        Self {
            inner: Passed::new(inner),
            progress,
        }
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

impl<B: Body> Body for Forwarded<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.project();
        let frame = ready!(this.inner.poll_frame(cx));
        this.progress.note();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Progress {
    pub(super) fn begin() -> Self {
        Self {
            start: Instant::now(),
            last: Arc::default(),
        }
    }

    pub(super) fn last(&self) -> Instant {
        self.start + Duration::from_millis(self.last.load(Ordering::Relaxed))
    }

    fn note(&self) {
        let passed = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(passed, Ordering::Relaxed);
    }
}

/// Our names, also with `_` in them, which some endpoints take for `-`; and cookies, addresses and
/// what belongs to a connection, which endpoints that join trailers to the head would believe.
fn remove_unfit(trailers: &mut HeaderMap) {
    hop::strip(trailers);
    let unfit: Vec<_> = trailers
        .keys()
        .filter(|name| {
            let text = name.as_str();
            hop::is_ours(name)
                || text.starts_with("affinity_")
                || text.starts_with("x-forwarded-")
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
