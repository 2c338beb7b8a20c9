//! Collects and checks what [`LocalSessions`] needs.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tower_affinity_core::{Clock, Lifetimes, LifetimesError};

use super::local_sessions::LocalSessions;
use crate::clock::SystemClock;
use crate::record::Recorder;

/// What [`LocalSessions`] cannot be built from.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LocalSessionsError {
    /// The idle timeout is not shorter than what a pin guarantees.
    #[error(transparent)]
    Clocks(#[from] LifetimesError),
    /// Times are whole milliseconds, so a value would have ended at once.
    #[error("the idle timeout {0:?} is shorter than 1ms")]
    TooShort(Duration),
    /// There would be room for nobody.
    #[error("a capacity of 0 has room for no session")]
    NoRoom,
}

/// Builds [`LocalSessions`]; see [`LocalSessions::builder`].
#[must_use]
pub struct LocalSessionsBuilder<T> {
    lifetimes: Lifetimes,
    pub(super) idle: Duration,
    pub(super) capacity: usize,
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) recorder: Recorder,
    value: PhantomData<fn() -> T>,
}

impl<T> LocalSessionsBuilder<T> {
    pub(super) fn new(lifetimes: Lifetimes) -> Self {
        Self {
            lifetimes,
            idle: IDLE,
            capacity: CAPACITY,
            clock: None,
            recorder: Recorder::default(),
            value: PhantomData,
        }
    }

    /// How long a value is kept after the last request of its session; by default 10 minutes.
    pub fn idle_timeout(self, idle: Duration) -> Self {
        Self { idle, ..self }
    }

    /// How many sessions can have a value at a time; by default 10,000.
    pub fn capacity(self, capacity: usize) -> Self {
        Self { capacity, ..self }
    }

    /// Where the time comes from; by default a [`SystemClock`].
    pub fn clock(self, clock: impl Clock) -> Self {
        Self {
            clock: Some(Arc::new(clock)),
            ..self
        }
    }

    /// What counts values; by default the global recorder of the `metrics` crate.
    pub fn recorder(self, recorder: Recorder) -> Self {
        Self { recorder, ..self }
    }

    /// Room for the sessions, all of it empty. Memory is taken as values come.
    ///
    /// # Errors
    ///
    /// If the idle timeout is not shorter than three quarters of the pins' idle lifetime, or
    /// nothing could be kept at all.
    pub fn build(mut self) -> Result<LocalSessions<T>, LocalSessionsError> {
        if self.idle < Duration::from_millis(1) {
            return Err(LocalSessionsError::TooShort(self.idle));
        }
        if self.capacity == 0 {
            return Err(LocalSessionsError::NoRoom);
        }
        self.lifetimes.outlasts(self.idle)?;
        let clock = self.clock.take();
        let clock = clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
        Ok(LocalSessions::new(&self, clock))
    }
}

impl<T> fmt::Debug for LocalSessionsBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSessionsBuilder")
            .field("lifetimes", &self.lifetimes)
            .field("idle_timeout", &self.idle)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

/// The gateway's default of `pin.local_idle_timeout`.
const IDLE: Duration = Duration::from_secs(600);

/// At 1 KiB a value, 10 MiB.
const CAPACITY: usize = 10_000;
