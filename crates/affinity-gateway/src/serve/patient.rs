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
    waiting: bool,
    activity: Activity,
}

impl<I> Patient<I> {
    pub(super) fn new(inner: I, patience: Duration, activity: Activity) -> Self {
        Self {
            inner,
            patience,
            timer: None,
            waiting: false,
            activity,
        }
    }

    /// Passes on what became of a write.
    fn bound<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            if std::mem::take(&mut self.waiting) {
                self.activity.wait(false);
            }
            return written;
        }
        let end = Instant::now() + self.patience;
        let patience = self.patience;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        if !self.waiting {
            self.waiting = true;
            self.activity.wait(true);
            timer.as_mut().reset(end);
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
        self.bound(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.bound(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        // nothing left to flush says nothing about a write that waits
        match flushed {
            Poll::Ready(_) => flushed,
            Poll::Pending => self.bound(flushed, cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.bound(shut, cx)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

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
