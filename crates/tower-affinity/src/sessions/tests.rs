//! Facts about values of sessions in one process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

mod bounds;
mod ends;
mod model;
mod moves;
mod shown;
mod together;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tower_affinity_core::{Cause, Kind, Lifetimes, SessionId, Timestamp};
use tower_affinity_testing::{HandClock, START};

use super::{Local, LocalSessions, LocalSessionsBuilder};
use crate::Affinity;
use crate::fixtures::decision;

const IDLE: Duration = Duration::from_secs(600);
const TICK: Duration = Duration::from_millis(1);

fn clock() -> HandClock {
    HandClock::at(Timestamp::from_secs(START))
}

fn built<T>(clock: &HandClock) -> LocalSessionsBuilder<T> {
    LocalSessions::builder(Lifetimes::default())
        .idle_timeout(IDLE)
        .clock(clock.clone())
}

fn room<T>(clock: &HandClock) -> LocalSessions<T> {
    built(clock).build().unwrap()
}

/// The nth of a row of random ids.
fn id(nth: u64) -> SessionId {
    SessionId::from_random(fastrand::Rng::with_seed(nth).u128(..))
}

/// A request of the nth session.
fn place<T>(sessions: &LocalSessions<T>, nth: u64) -> Local<T> {
    sessions.of_session(id(nth))
}

/// A request of one session after so many moves.
fn affinity(moves: u32) -> Affinity {
    let mut decision = decision("a", Kind::Pinned, Cause::Ok);
    decision.pin.as_mut().unwrap().moves = moves;
    Affinity::new(decision)
}

/// A value that is counted as long as it lives.
struct Slot(Arc<AtomicUsize>);

impl Slot {
    fn take(slots: &Arc<AtomicUsize>) -> Self {
        slots.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(slots))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
