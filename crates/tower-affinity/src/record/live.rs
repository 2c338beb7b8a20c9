//! How many sessions were seen within the idle lifetime and have not left: sketches of 64,000 bytes.
//!
//! [`Sketch`]es whose bits are the times of their last session: one of the sessions that were seen,
//! and, once one has left, one of these. A session costs a few loads, and a store when time has moved
//! on: no lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

use tower_affinity_core::{LiveSketch, SessionId, Sketch, Timestamp};

/// How many ticks an idle lifetime has: a session counts for at most one tick too long.
const TICKS: u64 = 64;

/// Ticks wrap here; 0 is no time.
const WRAP: u64 = u16::MAX as u64;

/// The live sessions of one group.
pub(super) struct Live {
    /// A tick in milliseconds.
    tick: AtomicU64,
    seen: Slots,
    left: OnceLock<Slots>,
}

/// The time of the last session of each slot, level by level; 0 for none.
struct Slots(Box<[AtomicU16]>);

impl Live {
    pub(super) fn new(idle: Duration) -> Self {
        Self {
            tick: AtomicU64::new(tick_of(idle)),
            seen: Slots::default(),
            left: OnceLock::new(),
        }
    }

    /// A session returned its pin.
    pub(super) fn seen(&self, session: SessionId, now: Timestamp, idle: Duration) {
        let time = self.time(now, idle);
        self.seen.mark(session, time);
    }

    /// A session has ended or moved away. It counts as seen as well, whether or not it was here: so
    /// those that have left are always among those that were seen.
    pub(super) fn left(&self, session: SessionId, now: Timestamp, idle: Duration) {
        let time = self.time(now, idle);
        self.seen.mark(session, time);
        self.left.get_or_init(Slots::default).mark(session, time);
    }

    /// A session has come from another group: if it had left this one, it is back.
    pub(super) fn arrived(&self, session: SessionId) {
        if let Some(left) = self.left.get() {
            left.mark(session, 0);
        }
    }

    /// The sessions that were seen within the idle lifetime before `now`, and those that left.
    pub(super) fn sketch(&self, now: Timestamp) -> LiveSketch {
        let time = time_of(now, self.tick.load(Ordering::Relaxed));
        LiveSketch {
            seen: self.seen.sketch(time),
            left: self
                .left
                .get()
                .map(|left| left.sketch(time))
                .unwrap_or_default(),
        }
    }

    fn time(&self, now: Timestamp, idle: Duration) -> u16 {
        let tick = tick_of(idle);
        if self.tick.load(Ordering::Relaxed) != tick {
            // another configuration counts other ticks: sessions are counted anew as they come
            self.tick.store(tick, Ordering::Relaxed);
            self.seen.clear();
            if let Some(left) = self.left.get() {
                left.clear();
            }
        }
        time_of(now, tick)
    }
}

impl Slots {
    fn clear(&self) {
        self.0
            .iter()
            .for_each(|slot| slot.store(0, Ordering::Relaxed));
    }

    fn mark(&self, session: SessionId, time: u16) {
        let (nth, levels) = Sketch::place(session);
        for slots in self.levels().take(levels) {
            if let Some(slot) = slots.get(nth)
                && slot.load(Ordering::Relaxed) != time
            {
                slot.store(time, Ordering::Relaxed);
            }
        }
    }

    fn sketch(&self, time: u16) -> Sketch {
        Sketch::of(self.levels().map(|slots| {
            let slots = slots.iter().enumerate();
            slots.filter_map(move |(nth, slot)| is_live(slot, time).then_some(nth))
        }))
    }

    fn levels(&self) -> impl Iterator<Item = &[AtomicU16]> {
        self.0.chunks_exact(Sketch::SLOTS)
    }
}

impl Default for Slots {
    fn default() -> Self {
        let slots = std::iter::repeat_with(AtomicU16::default);
        Self(slots.take(Sketch::SLOTS * Sketch::LEVELS).collect())
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
    fn sessions_that_left_do_not_count_wherever_they_were_seen() {
        for seed in 0..4 {
            for (seen, left) in [(10, 5), (1_000, 500), (20_000, 10_000), (200_000, 100_000)] {
                let (one, other) = (Live::new(IDLE), Live::new(IDLE));
                see(&one, 0..seen, seed, START);
                let leave = |nth| other.left(session(nth, seed), START.plus(IDLE / 4), IDLE);
                (0..left).for_each(leave);
                let near = |what, now: Timestamp, expected: u64| {
                    let mut union = one.sketch(now);
                    union.merge(&other.sketch(now));
                    let (count, expected) = (union.count(), expected as f64);
                    let error = (count - expected).abs();
                    assert!(
                        error <= expected * 0.08 + 0.5,
                        "{what}: {count} of {expected}, seed {seed}"
                    );
                };
                near("those that stay", START.plus(IDLE / 2), seen - left);
                near("they are forgotten together", START.plus(IDLE * 9 / 8), 0);
            }
        }
        let live = Live::new(IDLE);
        see(&live, 0..3_000, 1, START);
        (0..3_000).for_each(|nth| live.left(session(nth, 1), START, IDLE));
        assert_eq!(live.sketch(START).count().round(), 0.0, "all have left");
    }

    #[test]
    fn a_session_that_comes_back_is_live_again() {
        let live = Live::new(IDLE);
        see(&live, 0..1_000, 1, START);
        (0..500).for_each(|nth| live.left(session(nth, 1), START, IDLE));
        let back = START.plus(IDLE / 4);
        for nth in 0..500 {
            live.seen(session(nth, 1), back, IDLE);
            live.arrived(session(nth, 1));
        }
        let count = live.sketch(back).count();
        assert!((count - 1_000.0).abs() <= 50.0, "{count}");
    }

    #[test]
    fn it_takes_no_more_than_64_kib_and_as_much_again_once_one_has_left() {
        let live = Live::new(IDLE);
        assert!(size_of_val(&*live.seen.0) + size_of::<Live>() <= 64 << 10);
        assert!(live.left.get().is_none(), "before it is needed");
        live.left(session(1, 1), START, IDLE);
        let left = live.left.get().map_or(0, |left| size_of_val(&*left.0));
        assert!(left <= 64 << 10, "{left} bytes");
    }
}
