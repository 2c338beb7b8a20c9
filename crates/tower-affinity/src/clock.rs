//! The only module that reads the machine's clocks.

#![allow(clippy::disallowed_methods)] // every other module takes its time from here

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tower_affinity_core::{Clock, Timestamp};

/// The greatest share of the time that passed by which the clock is corrected: 60 s per hour.
const SLEW: f64 = 60.0 / 3600.0;

/// A difference from the wall clock that is reported.
const STEP: Duration = Duration::from_secs(2);

/// How often the wall clock is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The wall clock at start plus the monotone clock, corrected slowly towards the wall clock.
///
/// A step of the wall clock is reported by a `tracing` warning and not followed: the correction is
/// at most 60 seconds per hour, and this clock never goes backwards.
///
/// Reading it takes no lock, and writes only where a millisecond has begun.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
    /// Milliseconds since the epoch at `start`, with all corrections so far.
    base: AtomicI64,
    /// When the wall clock is looked at next, in milliseconds after `start`.
    due: AtomicU64,
    /// The latest time that was told, in milliseconds since the epoch.
    latest: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// As the clock's, which is told by it.
    base: i128,
    looked: Instant,
    reported: bool,
}

impl SystemClock {
    /// A clock that begins at the present wall time.
    #[must_use]
    pub fn new() -> Self {
        let start = Instant::now();
        let state = State {
            base: wall_millis(),
            looked: start,
            reported: false,
        };
        Self {
            start,
            base: AtomicI64::new(state.base as i64),
            due: AtomicU64::new(LOOK.as_millis() as u64),
            latest: AtomicU64::new(0),
            state: Mutex::new(state),
        }
    }

    /// Looks at the wall clock; one thread does it, others go on with what is known.
    fn look(&self, now: Instant, elapsed: u64) {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            // nothing in here can panic, and a time is right even after another thread did
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if now.saturating_duration_since(state.looked) >= LOOK {
            state.correct(now, elapsed.into(), wall_millis());
            self.base.store(state.base as i64, Ordering::Relaxed);
            // rounded up, since the present millisecond is not over
            let next = elapsed + LOOK.as_millis() as u64 + 1;
            self.due.store(next, Ordering::Relaxed);
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let instant = Instant::now();
        let elapsed = instant.duration_since(self.start).as_millis() as u64;
        if elapsed >= self.due.load(Ordering::Relaxed) {
            self.look(instant, elapsed);
        }
        let base = self.base.load(Ordering::Relaxed);
        let now = u64::try_from(base.saturating_add_unsigned(elapsed)).unwrap_or(0);
        let latest = self.latest.load(Ordering::Relaxed);
        let latest = match now > latest {
            true => self.latest.fetch_max(now, Ordering::Relaxed).max(now),
            false => latest,
        };
        Timestamp::from_millis(latest)
    }
}

impl State {
    fn correct(&mut self, now: Instant, elapsed: i128, wall: i128) {
        let off = wall - (self.base + elapsed);
        let most = (now.duration_since(self.looked).as_millis() as f64 * SLEW) as i128;
        self.base += off.clamp(-most, most);
        self.looked = now;
        let stepped = off.unsigned_abs() >= STEP.as_millis();
        if stepped && !self.reported {
            tracing::warn!(
                off_millis = off as i64,
                "wall clock stepped; following it slowly"
            );
        }
        self.reported = stepped;
    }
}

fn wall_millis() -> i128 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_millis() as i128,
        Err(before) => -(before.duration().as_millis() as i128),
    }
}

/// Measures how long something takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(base: i128, looked: Instant) -> State {
        State {
            base,
            looked,
            reported: false,
        }
    }

    #[test]
    fn a_step_of_the_wall_clock_is_followed_by_at_most_a_minute_per_hour() {
        let start = Instant::now();
        for step in [3_600_000, -3_600_000] {
            let mut state = state(1_000_000_000, start);
            for second in 1..=3600_u64 {
                let elapsed = i128::from(second) * 1000;
                let now = start + Duration::from_secs(second);
                state.correct(now, elapsed, 1_000_000_000 + elapsed + step);
            }
            let followed = (state.base - 1_000_000_000).abs();
            assert!(
                (57_000..=60_000).contains(&followed),
                "followed {followed} ms in an hour"
            );
            assert!(state.reported, "the step was not reported");
        }
    }

    #[test]
    fn time_does_not_go_backwards() {
        let clock = SystemClock::new();
        let first = clock.now();
        clock.base.fetch_sub(5_000, Ordering::Relaxed);
        assert!(clock.now() >= first);
    }
}
