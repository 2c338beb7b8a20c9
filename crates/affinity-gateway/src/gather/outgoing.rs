//! What a connection is about to send.

use std::{
    future::poll_fn,
    io::{self, IoSlice},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker, ready},
};

use tokio::{io::AsyncWrite, net::tcp::OwnedWriteHalf, task::AbortHandle};

use super::{give_back, is_gathering, put, room};

/// A write of more than this goes out at once: copying it would cost more than it saves.
pub(super) const MOST_BYTES: usize = 4096;

/// The writing side of a connection.
#[derive(Debug)]
pub(super) struct Outgoing(Mutex<Sending>);

#[derive(Debug)]
struct Sending {
    /// Until the connection is dropped.
    half: Option<OwnedWriteHalf>,
    /// Taken to be sent, but for what the socket has already.
    bytes: Vec<u8>,
    written: usize,
    /// Whether it is due.
    is_due: bool,
    /// The task that waits until the socket takes more, and who else does.
    held_up: Option<AbortHandle>,
    waiting: Option<Waker>,
    /// Whether nobody writes any more.
    is_left: bool,
    failed: Option<io::ErrorKind>,
}

impl Outgoing {
    pub(super) fn new(half: OwnedWriteHalf) -> Self {
        Self(Mutex::new(Sending {
            half: Some(half),
            bytes: Vec::new(),
            written: 0,
            is_due: false,
            held_up: None,
            waiting: None,
            is_left: false,
            failed: None,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Sending> {
        // only what is in it can be wrong then, and that is the connection's own
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn poll_write(
        self: &Arc<Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut sending = self.lock();
        ready!(sending.poll_free(cx))?;
        let length = slices.iter().map(|slice| slice.len()).sum::<usize>();
        if length > MOST_BYTES || !is_gathering() {
            ready!(self.poll_sent(&mut sending, cx))?;
            return sending.poll_half(|half| half.poll_write_vectored(cx, slices));
        }
        if sending.bytes.len() + length > MOST_BYTES {
            ready!(self.poll_sent(&mut sending, cx))?;
        }
        if sending.bytes.is_empty() {
            sending.bytes = room();
        }
        for slice in slices {
            sending.bytes.extend_from_slice(slice);
        }
        let is_new = !std::mem::replace(&mut sending.is_due, true);
        drop(sending);
        if is_new {
            put(Arc::clone(self));
        }
        Poll::Ready(Ok(length))
    }

    /// Ready unless the socket takes nothing at present: what is due is on its way.
    pub(super) fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.lock().poll_free(cx)
    }

    pub(super) fn poll_shutdown(self: &Arc<Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut sending = self.lock();
        ready!(sending.poll_free(cx))?;
        ready!(self.poll_sent(&mut sending, cx))?;
        sending.poll_half(|half| half.poll_shutdown(cx))
    }

    /// Writes what is due; what the socket does not take is written by a task.
    pub(super) fn write(self: &Arc<Self>) {
        let mut sending = self.lock();
        sending.is_due = false;
        self.send(&mut sending);
    }

    /// Sends what was taken before anything else is.
    fn poll_sent(
        self: &Arc<Self>,
        sending: &mut Sending,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.send(sending);
        sending.poll_free(cx)
    }

    fn send(self: &Arc<Self>, sending: &mut Sending) {
        if sending.held_up.is_some() || sending.try_send().is_ready() {
            return;
        }
        if sending.is_left {
            return sending.close();
        }
        let this = Arc::clone(self);
        let rest = tokio::spawn(poll_fn(move |cx| this.lock().poll_rest(cx)));
        sending.held_up = Some(rest.abort_handle());
    }

    /// The connection is dropped: what is due is sent still, but nobody waits for a socket that takes
    /// nothing. It is closed at once, as it would be without this.
    pub(super) fn leave(&self) {
        let mut sending = self.lock();
        sending.is_left = true;
        if let Some(rest) = sending.held_up.take() {
            rest.abort();
            sending.close();
        }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.close();
    }
}

impl Sending {
    /// Waits until the socket takes more.
    fn poll_free(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(failed) = self.failed {
            return Poll::Ready(Err(failed.into()));
        }
        if self.held_up.is_some() {
            self.waiting = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_half<T>(
        &mut self,
        poll: impl FnOnce(Pin<&mut OwnedWriteHalf>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match &mut self.half {
            Some(half) => poll(Pin::new(half)),
            None => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }

    /// Sends what the socket takes now; pending if that is not all.
    fn try_send(&mut self) -> Poll<()> {
        while let (Some(half), Some(rest)) = (&self.half, rest(&self.bytes, self.written)) {
            match half.try_write(rest) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Poll::Pending,
                sent => self.note(sent),
            }
        }
        self.empty();
        Poll::Ready(())
    }

    /// Sends what the socket did not take at once, and lets others write again.
    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let (Some(half), Some(rest)) = (&mut self.half, rest(&self.bytes, self.written)) {
            let sent = ready!(Pin::new(half).poll_write(cx, rest));
            self.note(sent);
        }
        self.empty();
        self.held_up = None;
        if let Some(waiting) = self.waiting.take() {
            waiting.wake();
        }
        Poll::Ready(())
    }

    fn note(&mut self, sent: io::Result<usize>) {
        match sent {
            Ok(sent) if sent > 0 => self.written += sent,
            nothing => {
                let kind = nothing.map_or_else(|error| error.kind(), |_| io::ErrorKind::WriteZero);
                self.failed = Some(kind);
                // nobody takes it any more
                self.written = self.bytes.len();
            }
        }
    }

    /// Lets go of the socket, which is closed once the reading side has as well.
    fn close(&mut self) {
        if let Some(half) = self.half.take() {
            // not shut down before: one call less
            half.forget();
        }
        // a buffer that is not given back is made anew: its thread may be ending
        self.bytes = Vec::new();
        self.written = 0;
    }

    fn empty(&mut self) {
        self.written = 0;
        if self.bytes.capacity() > 0 {
            give_back(std::mem::take(&mut self.bytes));
        }
    }
}

/// What is left of it, if anything is.
fn rest(bytes: &[u8], written: usize) -> Option<&[u8]> {
    bytes.get(written..).filter(|rest| !rest.is_empty())
}
