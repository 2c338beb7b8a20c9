//! Tells the wait for a request from the wait for the rest of its header.
//!
//! hyper has one timer for both: it begins when a header can come and ends when one is complete. That
//! timer is made here, and is cut short as soon as a byte of the header has come.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Read, ReadBufCursor, Sleep, Timer, Write};
use tokio::time;

/// `io`, and the timer for its headers: `header` is the limit once one has begun. The first header
/// counts as begun, since who connects has something to ask.
pub(super) fn watched<I>(io: I, header: Duration) -> (Watched<I>, HeaderTimer) {
    let is_begun = Arc::new(AtomicBool::new(false));
    let timer = HeaderTimer {
        is_begun: Arc::clone(&is_begun),
        is_first: AtomicBool::new(true),
        header,
    };
    (Watched { io, is_begun }, timer)
}

/// A connection that says when something was read from it.
pub(super) struct Watched<I> {
    io: I,
    is_begun: Arc<AtomicBool>,
}

/// Makes the timer of each header.
pub(super) struct HeaderTimer {
    is_begun: Arc<AtomicBool>,
    is_first: AtomicBool,
    header: Duration,
}

struct HeaderSleep {
    is_begun: Arc<AtomicBool>,
    is_cut: bool,
    header: Duration,
    sleep: Pin<Box<time::Sleep>>,
}

impl Timer for HeaderTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        // what was read before was another request; a byte that came with its end is not seen, and
        // the next one is
        self.is_begun
            .store(self.is_first.swap(false, Relaxed), Relaxed);
        Box::pin(HeaderSleep {
            is_begun: Arc::clone(&self.is_begun),
            is_cut: false,
            header: self.header,
            sleep: Box::pin(time::sleep_until(deadline.into())),
        })
    }

    fn now(&self) -> Instant {
        time::Instant::now().into_std()
    }
}

impl Sleep for HeaderSleep {}

impl Future for HeaderSleep {
    type Output = ();

    /// hyper polls it after each read that has not completed the header.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if !self.is_cut && self.is_begun.load(Relaxed) {
            self.is_cut = true;
            let deadline = time::Instant::now() + self.header;
            let deadline = deadline.min(self.sleep.deadline());
            self.sleep.as_mut().reset(deadline);
        }
        self.sleep.as_mut().poll(context)
    }
}

impl<I: Read + Unpin> Read for Watched<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.io).poll_read(context, buffer);
        if read.is_ready() {
            self.is_begun.store(true, Relaxed);
        }
        read
    }
}

impl<I: Write + Unpin> Write for Watched<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }
}
