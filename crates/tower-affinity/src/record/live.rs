//! How many sessions were seen within the idle lifetime: a sketch of 64,000 bytes.
//!
//! A bitmap by hash whose bits are the times of their last session, on four levels that take all
//! sessions, a quarter of them, a sixteenth and a 64th. The first level that is not full tells how
//! many there are (linear counting). A session costs a few loads, and a store when time has moved
//! on: no lock. Session ids are random and signed by us, so they are hashes already. Two sketches
//! become the union of their sessions by the later time of each slot.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use tower_affinity_core::{SessionId, Timestamp};

/// Slots of one level.
const SLOTS: usize = 8_000;

const LEVELS: usize = 4;

/// Each level takes one in `1 << SHIFT` of the sessions of the level before.
const SHIFT: u32 = 2;

/// How full a level may be: counting is more exact on the next one from there on.
const FULL: f64 = 0.92;

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
                .take(SLOTS * LEVELS)
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
        let bits = session.bits();
        let nth = usize::try_from((bits >> 64) % SLOTS as u128).unwrap_or_default();
        let deepest = (bits as u64).trailing_zeros() / SHIFT;
        for slots in self.levels().take(deepest as usize + 1) {
            if let Some(slot) = slots.get(nth)
                && slot.load(Ordering::Relaxed) != time
            {
                slot.store(time, Ordering::Relaxed);
            }
        }
    }

    /// How many sessions were seen within the idle lifetime before `now`.
    pub(super) fn count(&self, now: Timestamp) -> f64 {
        let time = time_of(now, self.tick.load(Ordering::Relaxed));
        let mut scale = 1.0;
        let mut count = 0.0;
        for slots in self.levels() {
            let used = slots.iter().filter(|slot| is_live(slot, time)).count();
            let free = (SLOTS - used).max(1) as f64 / SLOTS as f64;
            count = scale * SLOTS as f64 * -free.ln();
            if 1.0 - free <= FULL {
                break;
            }
            scale *= f64::from(1_u32 << SHIFT);
        }
        count
    }

    fn levels(&self) -> impl Iterator<Item = &[AtomicU16]> {
        self.slots.chunks_exact(SLOTS)
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
                let count = live.count(START);
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
            let count = live.count(now);
            assert!((count - expected).abs() <= expected * 0.05 + 0.5, "{count}");
        };
        near(START.plus(IDLE / 2), 2_000.0);
        near(START.plus(IDLE * 3 / 2), 2_000.0);
        near(START.plus(IDLE * 3 / 2 + IDLE / 32), 0.0);
        // as far as ticks wrap
        near(START.plus(IDLE / 64 * u32::from(u16::MAX)), 0.0);
    }

    #[test]
    fn other_lifetimes_begin_anew() {
        let live = Live::new(IDLE);
        see(&live, 0..1_000, 1, START);
        live.seen(session(1, 2), START, IDLE * 2);
        assert!(live.count(START) < 1.5);
    }

    #[test]
    fn it_takes_no_more_than_64_kib() {
        let live = Live::new(IDLE);
        assert!(size_of_val(&*live.slots) + size_of::<Live>() <= 64 << 10);
    }
}
