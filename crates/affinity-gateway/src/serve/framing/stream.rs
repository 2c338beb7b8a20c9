//! The stream that hyper reads: bytes of whole and unambiguous heads, and of their bodies.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use tokio_util::io::poll_read_buf;

use super::gate::Gate;
use super::head::Heads;
use super::watch::{Seen, Watch};
use crate::write_through::write_through;

/// A stream that gives out nothing that is not good, and stands in for what it keeps.
///
/// It also waits for heads: hyper-util reads the first bytes of a connection to tell HTTP/2 from
/// HTTP/1.1 and starts no timer meanwhile, and hyper has one timer for the silence between two
/// requests and for a head that has begun, which deserves less patience.
#[derive(Debug)]
pub(in crate::serve) struct Framed<I> {
    inner: I,
    watch: Watch,
    gate: Gate,
    within: Duration,
    /// Whether a head is timed: the first one, or the preface of HTTP/2, until it has come, and a
    /// later one while it has come in part.
    hurries: bool,
    /// Made where a head that is timed is waited for; most come whole. Boxed: hyper moves its I/O, a
    /// running timer cannot be moved.
    patience: Option<Pin<Box<Sleep>>>,
    /// Read and not yet given out; the first `good` bytes of it may be.
    held: BytesMut,
    good: usize,
    end: Option<End>,
    linger: Option<Linger>,
    /// What the gate knows of it.
    between: bool,
}

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::serve) enum Language {
    /// HTTP/1.0 or HTTP/1.1, or nothing that can be understood.
    Http1,
    /// HTTP/2, by its preface.
    Http2,
}

#[derive(Debug)]
struct Linger {
    time: Pin<Box<Sleep>>,
    left: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The stand-in is the last request.
    Refused,
    /// The body cannot be read on.
    Broken,
}

impl<I> Framed<I> {
    pub(in crate::serve) fn new(inner: I, gate: Gate, heads: Heads) -> Self {
        Self {
            inner,
            watch: Watch::new(heads),
            gate,
            within: heads.within,
            hurries: true,
            patience: None,
            held: BytesMut::new(),
            good: 0,
            end: None,
            linger: None,
            between: false,
        }
    }

    /// Takes what `watch` said about `held`; before it, there were `heads`.
    fn settle(&mut self, seen: Seen, heads: u64) {
        match seen {
            Seen::Good(good) | Seen::Wait(good) => self.good = good,
            Seen::Broken(good) => {
                self.good = good;
                self.end = Some(End::Broken);
            }
            Seen::Bad(good, fault) => {
                self.gate.refuse(self.watch.heads() + 1, fault);
                self.held.truncate(good);
                self.held.extend_from_slice(STAND_IN);
                self.good = self.held.len();
                self.end = Some(End::Refused);
            }
        }
        self.time_head(heads);
    }

    /// Starts or ends the time of a head.
    fn time_head(&mut self, heads: u64) {
        let new = self.watch.heads() > heads;
        if new || self.watch.is_through() || self.end.is_some() {
            self.hurries = false;
            self.patience = None;
        }
        let begun = self.held.len() > self.good && !self.watch.is_waiting() && self.end.is_none();
        self.hurries |= begun;
    }

    fn look(&mut self) {
        let heads = self.watch.heads();
        let seen = self.watch.see(&self.held);
        self.settle(seen, heads);
    }

    fn give(&mut self, out: &mut ReadBuf<'_>) {
        let part = self.good.min(out.remaining());
        out.put_slice(self.held.get(..part).unwrap_or_default());
        self.held.advance(part);
        self.good -= part;
        if self.held.is_empty() {
            // a connection that waits holds no memory for it
            self.held = BytesMut::new();
        }
    }

    /// Tells the gate whether the next request is still to begin.
    fn tell(&mut self) {
        let is_head = self.watch.is_at_head() && self.watch.heads() > 0;
        let between = is_head && self.held.is_empty() && self.end.is_none();
        if between != self.between {
            self.between = between;
            self.gate.set_between(between);
        }
    }
}

impl<I: AsyncRead + Unpin> Framed<I> {
    /// What the client speaks, by its first bytes. They are kept, to be read after this.
    pub(in crate::serve) fn poll_language(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Language>> {
        loop {
            if self.watch.is_through() {
                return Poll::Ready(Ok(Language::Http2));
            }
            if self.end.is_some() || !self.watch.may_be_http_2(&self.held) {
                return Poll::Ready(Ok(Language::Http1));
            }
            // most heads at once
            self.held.reserve(FIRST);
            if !ready!(self.poll_more(cx))? {
                return Poll::Ready(Ok(Language::Http1));
            }
        }
    }

    /// Waits no longer for a head than there is patience.
    fn poll_patience(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        if !self.hurries {
            return Poll::Pending;
        }
        let within = self.within;
        let new = || Box::pin(tokio::time::sleep(within));
        ready!(self.patience.get_or_insert_with(new).as_mut().poll(cx));
        // hyper takes it for the end of a connection in good order
        self.gate.give_up();
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }

    /// Reads on behind what is held; `false` at the end of the stream.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let before = self.held.len();
        let inner = Pin::new(&mut self.inner);
        let read = match poll_read_buf(inner, cx, &mut self.held) {
            Poll::Ready(read) => read?,
            Poll::Pending => return self.poll_patience(cx).map(Err),
        };
        // once a line, so that one byte at a time costs no more than a head has lines
        let new = self.held.get(before..).unwrap_or_default();
        if memchr::memchr(b'\n', new).is_some() || self.held.len() >= self.watch.most() {
            self.look();
        }
        Poll::Ready(Ok(read > 0))
    }

    /// Ready at the end of the stream, so that a client that has left is noticed, while what comes
    /// before it cannot be given out yet. Behind more than a little of that it is not looked for.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.held.len() < EARLY {
            if !ready!(self.poll_more(cx))? {
                return Poll::Ready(Ok(()));
            }
        }
        Poll::Pending
    }

    /// Reads into `out`, and keeps back what is not good.
    fn poll_straight(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<bool>> {
        let before = out.filled().len();
        match Pin::new(&mut self.inner).poll_read(cx, out) {
            Poll::Ready(read) => read?,
            Poll::Pending => return self.poll_patience(cx).map(Err),
        }
        let read = out.filled().get(before..).unwrap_or_default();
        if read.is_empty() {
            return Poll::Ready(Ok(false));
        }
        let heads = self.watch.heads();
        let seen = self.watch.see(read);
        if seen != Seen::Good(read.len()) {
            self.held.extend_from_slice(read);
            out.set_filled(before);
        }
        self.settle(seen, heads);
        if self.held.is_empty() {
            self.good = 0;
        }
        Poll::Ready(Ok(true))
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Framed<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.poll_good(cx, out);
        self.tell();
        read
    }
}

impl<I: AsyncRead + Unpin> Framed<I> {
    fn poll_good(&mut self, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self;
        let before = out.filled().len();
        loop {
            if this.good > 0 {
                this.give(out);
                return Poll::Ready(Ok(()));
            }
            match this.end {
                // the connection ends with the answer
                Some(End::Refused) => return Poll::Pending,
                Some(End::Broken) => return Poll::Ready(Err(io::ErrorKind::InvalidData.into())),
                None => {}
            }
            if this.watch.is_waiting() {
                match this.gate.poll_answered(this.watch.heads(), cx) {
                    Poll::Ready(true) => this.watch.pass_through(),
                    Poll::Ready(false) => this.watch.answered(),
                    Poll::Pending => return this.poll_end(cx),
                }
                this.look();
                continue;
            }
            let more = match this.held.is_empty() {
                true => ready!(this.poll_straight(cx, out))?,
                false => ready!(this.poll_more(cx))?,
            };
            if !more || out.filled().len() > before {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Framed<I> {
    write_through!(but poll_shutdown);

    /// After a refusal, and after an answer that did not wait for the end of its request, what the
    /// client still sends is read for a moment: closed with bytes unread, the connection would be
    /// reset, and the client might never see the answer.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        ready!(Pin::new(&mut this.inner).poll_shutdown(cx))?;
        if this.end != Some(End::Refused) && !this.watch.is_in_body() {
            return Poll::Ready(Ok(()));
        }
        let linger = this.linger.get_or_insert_with(|| Linger {
            time: Box::pin(tokio::time::sleep(LINGER)),
            left: LINGER_BYTES,
        });
        let mut scratch = [0; 4096];
        while linger.left > 0 {
            let mut buf = ReadBuf::new(&mut scratch);
            match Pin::new(&mut this.inner).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {
                    linger.left = linger.left.saturating_sub(buf.filled().len());
                }
                Poll::Ready(_) => break,
                Poll::Pending => {
                    ready!(linger.time.as_mut().poll(cx));
                    break;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// As long as most heads.
const FIRST: usize = 1024;

/// So much may come while an answer decides what it is.
const EARLY: usize = 4096;

/// Long enough for a client on another continent to read an answer.
const LINGER: Duration = Duration::from_millis(500);
const LINGER_BYTES: usize = 256 * 1024;

/// What hyper reads in place of a head that is refused. It never gets farther than the service's
/// first layer, which knows its place.
pub(super) const STAND_IN: &[u8] = b"GET / HTTP/1.1\r\nhost: refused\r\nconnection: close\r\n\r\n";
