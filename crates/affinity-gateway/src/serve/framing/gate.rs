//! What the two ends of one connection tell each other: its bytes and its service.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};

use super::fault::Fault;

/// Shared by the stream and the service of one connection. A clone is another handle.
#[derive(Clone, Debug, Default)]
pub(in crate::serve) struct Gate(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Whether the stream is between two requests, none of the next having come.
    between: AtomicBool,
    /// Whether a head did not come in time.
    late: AtomicBool,
    /// What the task of the connection looks at with each step, to take the lock only where there is
    /// something to do: whether the last request waits for its answer, and whether bytes are to go
    /// ahead of that. Both change under the lock. Bytes for an answer that has begun cannot be missed:
    /// they were put before the lock was taken for the answer.
    open: AtomicBool,
    filled: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many requests came to the service.
    arrived: u64,
    /// How many of them were answered, and whether the last answer changed the protocol.
    answered: u64,
    switched: bool,
    refused: Option<(u64, Fault)>,
    waiting: Option<Waker>,
    ahead: Ahead,
}

/// What goes out ahead of the answer to the last request that came.
#[derive(Debug, Default)]
struct Ahead {
    bytes: BytesMut,
    /// How many there were, and how long they were together.
    count: usize,
    length: usize,
    /// The request before whose answer the way is clear: all that was written earlier is out.
    clear: u64,
    /// Wakes who writes.
    writer: Option<Waker>,
}

impl Gate {
    /// The next request has come to the service: its place, counted from 1, or its fault if a
    /// stand-in came instead.
    pub(in crate::serve) fn arrive(&self) -> Result<u64, Fault> {
        let mut state = self.state();
        state.arrived += 1;
        state.ahead.forget();
        self.0.open.store(true, Ordering::Relaxed);
        self.0.filled.store(false, Ordering::Relaxed);
        match state.refused {
            Some((place, fault)) if place == state.arrived => Err(fault),
            _ => Ok(state.arrived),
        }
    }

    /// The last request was answered; `switched`: with another protocol.
    pub(in crate::serve) fn answer(&self, switched: bool) {
        let mut state = self.state();
        state.answered = state.arrived;
        state.switched = switched;
        self.0.open.store(false, Ordering::Relaxed);
        if let Some(waiting) = state.waiting.take() {
            waiting.wake();
        }
    }

    /// The request in this place, counted from 1, gets no answer but the one to `fault`.
    pub(super) fn refuse(&self, place: u64, fault: Fault) {
        self.state().refused = Some((place, fault));
    }

    /// What was refused.
    pub(in crate::serve) fn fault(&self) -> Option<Fault> {
        self.state().refused.map(|(_, fault)| fault)
    }

    /// Waits for the answer to the request in this place: whether it changed the protocol.
    pub(super) fn poll_answered(&self, place: u64, cx: &Context<'_>) -> Poll<bool> {
        let mut state = self.state();
        if state.answered >= place {
            return Poll::Ready(state.switched);
        }
        state.waiting = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Whether something may still go out ahead of the answer to the request in this place.
    pub(super) fn takes_ahead(&self, place: u64) -> bool {
        let state = self.state();
        state.is_open(place) && state.ahead.count < INTERIMS
    }

    /// Puts `bytes` ahead of the answer to the request in this place, while that may be.
    pub(super) fn put_ahead(&self, place: u64, bytes: &[u8]) -> bool {
        let mut state = self.state();
        let open = state.is_open(place);
        let put = open && state.ahead.put(bytes);
        if put {
            self.0.filled.store(true, Ordering::Relaxed);
        }
        if put && let Some(writer) = state.ahead.writer.take() {
            writer.wake();
        }
        put
    }

    /// All that was written so far is out. Wakes `cx` once something is to go ahead of the answer to
    /// the last request, if that has none yet.
    pub(super) fn clear(&self, cx: &Context<'_>) {
        if !self.0.open.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state();
        if !state.is_open(state.arrived) {
            return;
        }
        state.ahead.clear = state.arrived;
        match &mut state.ahead.writer {
            Some(writer) => writer.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
    }

    /// What goes ahead of what is written next. None while an earlier answer may still be written:
    /// it would get into that.
    pub(super) fn take_ahead(&self) -> Option<Bytes> {
        if !self.0.filled.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = self.state();
        if state.ahead.clear != state.arrived {
            return None;
        }
        self.0.filled.store(false, Ordering::Relaxed);
        Some(state.ahead.bytes.split().freeze())
    }

    /// Whether the stream is between two requests.
    pub(in crate::serve) fn set_between(&self, between: bool) {
        self.0.between.store(between, Ordering::Relaxed);
    }

    /// Whether one request has come as a whole, and nothing of the next.
    pub(in crate::serve) fn is_between(&self) -> bool {
        self.0.between.load(Ordering::Relaxed)
    }

    /// A head did not come in time.
    pub(super) fn give_up(&self) {
        self.0.late.store(true, Ordering::Relaxed);
    }

    /// Whether a head did not come in time.
    pub(in crate::serve) fn is_late(&self) -> bool {
        self.0.late.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // plain values, each written at once: right even after a panic elsewhere
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether the request in this place is the last that came, and waits for its answer.
    fn is_open(&self, place: u64) -> bool {
        place == self.arrived && self.answered < place
    }
}

impl Ahead {
    /// Another request has come.
    fn forget(&mut self) {
        self.bytes.clear();
        (self.count, self.length) = (0, 0);
    }

    fn put(&mut self, bytes: &[u8]) -> bool {
        self.count += 1;
        self.length += bytes.len();
        let fits = self.count <= INTERIMS && self.length <= INTERIM_BYTES;
        if fits {
            self.bytes.extend_from_slice(bytes);
        }
        fits
    }
}

/// What may go out ahead of one answer.
const INTERIMS: usize = 8;
const INTERIM_BYTES: usize = 16 * 1024;
