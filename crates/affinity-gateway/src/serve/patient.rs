//! A stream whose writes do not wait for ever.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::activity::Activity;

/// Fails once the other side has taken nothing for too long of what it was sent.
#[derive(Debug)]
pub(crate) struct Patient<I> {
    inner: I,
    patience: Duration,
    // made at the first wait: most connections have none
    timer: Option<Pin<Box<Sleep>>>,
    waiting: Option<For>,
    activity: Activity,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    /// A write, or the end of all.
    Write,
    /// That what was written is on its way.
    Flush,
}

impl<I> Patient<I> {
    pub(super) fn new(inner: I, patience: Duration, activity: Activity) -> Self {
        Self {
            inner,
            patience,
            timer: None,
            waiting: None,
            activity,
        }
    }

    /// Passes on what became of a write.
    fn bound<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        what: For,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            // nothing left to flush says nothing about a write that waits
            if self.waiting.is_some() && (what == For::Write || self.waiting == Some(what)) {
                self.waiting = None;
                self.activity.wait(false);
            }
            return written;
        }
        let end = Instant::now() + self.patience;
        let patience = self.patience;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        if self.waiting.is_none() {
            self.activity.wait(true);
            timer.as_mut().reset(end);
        }
        if self.waiting != Some(For::Write) {
            self.waiting = Some(what);
        }
        timer.as_mut().poll(cx).map(|()| {
            self.activity.stall();
            Err(io::ErrorKind::TimedOut.into())
        })
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Patient<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Patient<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.bound(written, For::Write, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.bound(written, For::Write, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.bound(flushed, For::Flush, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.bound(shut, For::Write, cx)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_is_left() {
        let (near, _far) = duplex(64);
        let activity = Activity::default();
        let mut near = Patient::new(near, PATIENCE, activity.clone());
        let begun = Instant::now();
        let error = near.write_all(&[0; 65]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() >= PATIENCE && begun.elapsed() < PATIENCE * 2);
        assert!(activity.is_stalled());
    }

    /// Takes every write, and is on its way with it unless it is held up.
    struct Slow(Arc<AtomicBool>);

    impl AsyncWrite for Slow {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            match self.0.load(Ordering::Relaxed) {
                true => Poll::Pending,
                false => Poll::Ready(Ok(())),
            }
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_flushed_in_time_counts_against_no_later_flush() {
        let held_up = Arc::new(AtomicBool::new(true));
        let mut near = Patient::new(Slow(Arc::clone(&held_up)), PATIENCE, Activity::default());
        let flush = tokio::time::timeout(PATIENCE / 2, near.flush());
        flush.await.expect_err("it is held up");
        held_up.store(false, Ordering::Relaxed);
        near.flush().await.unwrap();
        tokio::time::sleep(PATIENCE * 2).await;
        held_up.store(true, Ordering::Relaxed);
        let flush = tokio::time::timeout(PATIENCE / 2, near.flush());
        flush
            .await
            .expect_err("it is held up again, and not for long");
        let error = near.flush().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_little_now_and_then_is_waited_for() {
        let (near, mut far) = duplex(64);
        let activity = Activity::default();
        let mut near = Patient::new(near, PATIENCE, activity.clone());
        let reading = tokio::spawn(async move {
            for _ in 0..100 {
                tokio::time::sleep(PATIENCE / 2).await;
                far.read_exact(&mut [0; 64]).await.unwrap();
            }
        });
        near.write_all(&[0; 6400]).await.unwrap();
        reading.await.unwrap();
        assert!(!activity.is_stalled());
    }
}
