//! How many sessions were seen within the idle lifetime: a sketch of 64,000 bytes.
//!
//! A [`Sketch`] whose bits are the times of their last session. A session costs a few loads, and a
//! store when time has moved on: no lock.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use tower_affinity_core::{SessionId, Sketch, Timestamp};

/// How many ticks an idle lifetime has: a session counts for at most one tick too long.
const TICKS: u64 = 64;

/// Ticks wrap here; 0 is no time.
const WRAP: u64 = u16::MAX as u64;

/// The live sessions of one group.
pub(super) struct Live {
    /// A tick in milliseconds.
    tick: AtomicU64,
    slots: Box<[AtomicU16]>,
}

impl Live {
    pub(super) fn new(idle: Duration) -> Self {
        Self {
            tick: AtomicU64::new(tick_of(idle)),
            slots: std::iter::repeat_with(AtomicU16::default)
                .take(Sketch::SLOTS * Sketch::LEVELS)
                .collect(),
        }
    }

    /// A session returned its pin.
    pub(super) fn seen(&self, session: SessionId, now: Timestamp, idle: Duration) {
        let tick = tick_of(idle);
        if self.tick.load(Ordering::Relaxed) != tick {
            // another configuration counts other ticks: sessions are counted anew as they come
            self.tick.store(tick, Ordering::Relaxed);
            self.slots
                .iter()
                .for_each(|slot| slot.store(0, Ordering::Relaxed));
        }
        let time = time_of(now, tick);
        let (nth, levels) = Sketch::place(session);
        for slots in self.levels().take(levels) {
            if let Some(slot) = slots.get(nth)
                && slot.load(Ordering::Relaxed) != time
            {
                slot.store(time, Ordering::Relaxed);
            }
        }
    }

    /// The sessions that were seen within the idle lifetime before `now`.
    pub(super) fn sketch(&self, now: Timestamp) -> Sketch {
        let time = time_of(now, self.tick.load(Ordering::Relaxed));
        Sketch::of(self.levels().map(|slots| {
            let slots = slots.iter().enumerate();
            slots.filter_map(move |(nth, slot)| is_live(slot, time).then_some(nth))
        }))
    }

    fn levels(&self) -> impl Iterator<Item = &[AtomicU16]> {
        self.slots.chunks_exact(Sketch::SLOTS)
    }
}

fn tick_of(idle: Duration) -> u64 {
    let millis = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
    (millis / TICKS).max(1)
}

fn time_of(now: Timestamp, tick: u64) -> u16 {
    let nth = now.as_millis() / tick.max(1) % WRAP + 1;
    u16::try_from(nth).unwrap_or(u16::MAX)
}

/// Whether the time of a slot is within the idle lifetime; what is older is taken out, so that it
/// is not young again once ticks have wrapped.
fn is_live(slot: &AtomicU16, time: u16) -> bool {
    let seen = slot.load(Ordering::Relaxed);
    if seen == 0 {
        return false;
    }
    let age = (u64::from(time) + WRAP - u64::from(seen)) % WRAP;
    // another thread can be a tick ahead
    if age <= TICKS || age > WRAP - TICKS {
        return true;
    }
    // a failure means that its session has just been seen
    slot.compare_exchange(seen, 0, Ordering::Relaxed, Ordering::Relaxed)
        .is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_secs(1_800);
    const START: Timestamp = Timestamp::from_secs(1_800_000_000);

    /// The nth of a row of random ids.
    fn session(nth: u64, seed: u64) -> SessionId {
        let mut random = fastrand::Rng::with_seed(nth ^ (seed << 40));
        SessionId::from_random(random.u128(..))
    }

    fn see(live: &Live, sessions: std::ops::Range<u64>, seed: u64, now: Timestamp) {
        sessions.for_each(|nth| live.seen(session(nth, seed), now, IDLE));
    }

    #[test]
    fn it_is_within_five_per_cent_up_to_a_million_sessions() {
        for seed in 0..8 {
            let live = Live::new(IDLE);
            let mut seen = 0;
            for upto in [
                1_u64, 10, 100, 1_000, 10_000, 20_000, 30_000, 100_000, 300_000, 1_000_000,
            ] {
                see(&live, seen..upto, seed, START);
                seen = upto;
                let count = live.sketch(START).count();
                let error = (count - upto as f64).abs() / upto as f64;
                assert!(error <= 0.05, "{count} of {upto} sessions, seed {seed}");
            }
        }
    }

    #[test]
    fn a_session_counts_once_and_for_as_long_as_its_pin_lives() {
        let live = Live::new(IDLE);
        see(&live, 0..1_000, 1, START);
        see(&live, 0..1_000, 1, START.plus(IDLE / 2));
        see(&live, 1_000..2_000, 1, START.plus(IDLE / 2));
        let near = |now: Timestamp, expected: f64| {
            let count = live.sketch(now).count();
            assert!((count - expected).abs() <= expected * 0.05 + 0.5, "{count}");
        };
        near(START.plus(IDLE / 2), 2_000.0);
        near(START.plus(IDLE * 3 / 2), 2_000.0);
        near(START.plus(IDLE * 3 / 2 + IDLE / 32), 0.0);
        // as far as ticks wrap
        near(START.plus(IDLE / 64 * u32::from(u16::MAX)), 0.0);
    }

    #[test]
    fn a_session_that_two_replicas_saw_counts_once_while_it_is_live_at_one() {
        let (one, other) = (Live::new(IDLE), Live::new(IDLE));
        see(&one, 0..2_000, 1, START);
        see(&other, 1_000..3_000, 1, START.plus(IDLE / 2));
        let near = |now: Timestamp, expected: f64| {
            let mut union = one.sketch(now);
            union.merge(&other.sketch(now));
            let count = union.count();
            assert!((count - expected).abs() <= expected * 0.05, "{count}");
        };
        near(START.plus(IDLE / 2), 3_000.0);
        near(START.plus(IDLE * 5 / 4), 2_000.0);
    }

    #[test]
    fn other_lifetimes_begin_anew() {
        let live = Live::new(IDLE);
        see(&live, 0..1_000, 1, START);
        live.seen(session(1, 2), START, IDLE * 2);
        assert!(live.sketch(START).count() < 1.5);
    }

    #[test]
    fn it_takes_no_more_than_64_kib() {
        let live = Live::new(IDLE);
        assert!(size_of_val(&*live.slots) + size_of::<Live>() <= 64 << 10);
    }
}
