//! What the two ends of one connection tell each other: its bytes and its service.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::fault::Fault;

/// Shared by the stream and the service of one connection. A clone is another handle.
#[derive(Clone, Debug, Default)]
pub(in crate::serve) struct Gate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// How many requests came to the service.
    arrived: u64,
    /// How many of them were answered, and whether the last answer changed the protocol.
    answered: u64,
    switched: bool,
    refused: Option<(u64, Fault)>,
    waiting: Option<Waker>,
}

impl Gate {
    /// The next request has come to the service: its fault, if a stand-in came in its place.
    pub(in crate::serve) fn arrive(&self) -> Option<Fault> {
        let mut state = self.state();
        state.arrived += 1;
        let (place, fault) = state.refused?;
        (place == state.arrived).then_some(fault)
    }

    /// The last request was answered; `switched`: with another protocol.
    pub(in crate::serve) fn answer(&self, switched: bool) {
        let mut state = self.state();
        state.answered = state.arrived;
        state.switched = switched;
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

    fn state(&self) -> MutexGuard<'_, State> {
        // plain values, each written at once: right even after a panic elsewhere
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
