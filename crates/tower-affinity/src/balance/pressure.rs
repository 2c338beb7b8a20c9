//! How much of a group's limit is kept from requests that obey no pin, because some that do had to
//! be refused.
//!
//! A share that is set beforehand is not enough: each new session that gets in comes back as a
//! pinned one, until those alone are more than the group can serve. So each refusal of a pinned
//! request closes a further part of the limit to others, and time opens it again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tower_affinity_core::Timestamp;

/// The pressure: none at first, rising with each refusal, falling with time.
#[derive(Debug, Default)]
pub(super) struct Pressure {
    /// When it will be gone, in milliseconds.
    until: AtomicU64,
}

/// How long it takes from all to nothing: a group that is well again takes new sessions by then.
const FALL: Duration = Duration::from_secs(10);
/// So many refusals in one moment close all of the limit: some three a second keep it closed.
const REFUSALS: u64 = 32;

impl Pressure {
    /// A request that obeys a pin was refused.
    pub(super) fn rise(&self, now: Timestamp) {
        let (now, fall) = (now.as_millis(), FALL.as_millis() as u64);
        let risen = |until: u64| Some((until.max(now) + fall / REFUSALS).min(now + fall));
        // it always answers something, so nothing is lost
        let _ = self
            .until
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, risen);
    }

    /// What is left of `room`. `now` is asked only if it matters.
    pub(super) fn leaves(&self, room: usize, now: impl FnOnce() -> Timestamp) -> usize {
        let until = self.until.load(Ordering::Relaxed);
        if until == 0 {
            return room;
        }
        let fall = FALL.as_millis() as u64;
        let left = until.saturating_sub(now().as_millis()).min(fall);
        if left == 0 {
            // a rise that comes in between wins
            let _ = self
                .until
                .compare_exchange(until, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
        let open = room as u128 * u128::from(fall - left) / u128::from(fall);
        usize::try_from(open).unwrap_or(room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(1_000_000 + millis)
    }

    #[test]
    fn without_a_refusal_all_is_open_and_no_clock_is_read() {
        assert_eq!(Pressure::default().leaves(8, || panic!("read")), 8);
    }

    #[test]
    fn refusals_close_the_room_and_time_opens_it() {
        let pressure = Pressure::default();
        pressure.rise(at(0));
        let one = pressure.leaves(1000, || at(0));
        assert!((960..1000).contains(&one), "one refusal leaves {one}");
        for _ in 0..1000 {
            pressure.rise(at(0));
        }
        assert_eq!(pressure.leaves(1000, || at(0)), 0);
        assert_eq!(pressure.leaves(1000, || at(5_000)), 500);
        assert_eq!(pressure.leaves(1000, || at(10_000)), 1000);
        assert_eq!(pressure.leaves(1000, || panic!("read")), 1000);
    }

    #[test]
    fn the_room_of_a_group_of_any_size_does_not_overflow() {
        let pressure = Pressure::default();
        pressure.rise(at(0));
        assert!(pressure.leaves(usize::MAX - 1, || at(0)) < usize::MAX - 1);
    }
}
