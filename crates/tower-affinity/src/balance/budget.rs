//! How many further attempts a group may take: a share of its requests, and a few more, so that
//! retries do not bring down what is already slow.
//!
//! The method is that of Finagle's and tower's retry budgets: both requests and further attempts
//! are counted over the last ten seconds. Nothing here waits or locks.

use std::sync::atomic::{AtomicU64, Ordering};

use tower_affinity_core::Timestamp;

use super::retries::Retries;

/// Over how many seconds requests and attempts are counted.
const WINDOW: u32 = 10;

/// One group's requests and further attempts of the last ten seconds.
#[derive(Debug, Default)]
pub(super) struct Budget {
    requests: Counts,
    /// Looked at one second further back than requests, so that no ten seconds hold more attempts
    /// than they may, wherever they begin.
    attempts: Counts,
}

impl Budget {
    /// One more request.
    pub(super) fn request(&self, now: Timestamp) {
        self.requests.add(second(now));
    }

    /// Takes a further attempt out of the budget, if it has one.
    #[must_use]
    pub(super) fn attempt(&self, now: Timestamp, retries: &Retries) -> bool {
        let now = second(now);
        let share = self.requests.within(now, WINDOW) * u64::from(retries.percent) / 100;
        let floor = u64::from(retries.floor) * u64::from(WINDOW);
        // counted first, so that of two who ask at once only one gets the last
        self.attempts.add(now);
        let has_room = self.attempts.within(now, WINDOW + 1) <= share + floor;
        if !has_room {
            self.attempts.take_back(now);
        }
        has_room
    }
}

/// How often something happened in each of the last seconds.
#[derive(Debug, Default)]
struct Counts([AtomicU64; SECONDS]);

/// One more than are looked at, so that the present second never takes the place of one of them.
const SECONDS: usize = WINDOW as usize + 2;

/// A place holds its second in the upper half, and how often in that second in the lower half.
const COUNT: u64 = u32::MAX as u64;

impl Counts {
    fn add(&self, second: u32) {
        self.change(second, |count| (count + 1).min(COUNT));
    }

    fn take_back(&self, second: u32) {
        self.change(second, |count| count.saturating_sub(1));
    }

    fn change(&self, second: u32, change: impl Fn(u64) -> u64) {
        let Some(place) = self.0.get(second as usize % SECONDS) else {
            return;
        };
        let of_second = u64::from(second) << 32;
        let changed = place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| {
            let count = if old & !COUNT == of_second {
                old & COUNT
            } else {
                0
            };
            Some(of_second | change(count))
        });
        // the closure always gives a value
        debug_assert!(changed.is_ok());
    }

    /// How often in the present second and those before it, `seconds` in all.
    fn within(&self, now: u32, seconds: u32) -> u64 {
        let places = self.0.iter().map(|place| place.load(Ordering::Relaxed));
        places
            .filter(|place| now.wrapping_sub((place >> 32) as u32) < seconds)
            .map(|place| place & COUNT)
            .sum()
    }
}

/// Its lower half is enough: it comes again after 136 years.
fn second(now: Timestamp) -> u32 {
    (now.as_millis() / 1000) as u32
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use proptest::prelude::*;
    use tower_affinity_testing::START;

    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_secs(START).plus(Duration::from_millis(millis))
    }

    fn granted(budget: &Budget, now: Timestamp, asked: usize) -> usize {
        let retries = Retries::default();
        (0..asked).filter(|_| budget.attempt(now, &retries)).count()
    }

    #[test]
    fn a_group_without_requests_has_the_floor_only() {
        let budget = Budget::default();
        assert_eq!(granted(&budget, at(0), 100), 30);
        assert_eq!(
            granted(&budget, at(10_000), 100),
            0,
            "ten seconds hold more"
        );
        assert_eq!(granted(&budget, at(11_000), 100), 30);
    }

    #[test]
    fn a_fifth_of_the_requests_comes_on_top() {
        let budget = Budget::default();
        for _ in 0..500 {
            budget.request(at(0));
        }
        assert_eq!(granted(&budget, at(500), 1_000), 130);
        assert_eq!(granted(&budget, at(9_500), 1_000), 0);
        assert_eq!(
            granted(&budget, at(20_000), 1_000),
            30,
            "old requests count"
        );
    }

    #[test]
    fn threads_that_ask_at_once_get_no_more() {
        let budget = Budget::default();
        let got = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| got.fetch_add(granted(&budget, at(0), 100), Ordering::Relaxed));
            }
        });
        let got = got.into_inner();
        assert!(got <= 30, "{got} attempts, more than the budget");
        assert_eq!(got + granted(&budget, at(0), 100), 30, "some were lost");
    }

    proptest! {
        #[test]
        fn no_ten_seconds_hold_more_than_the_budget(
            steps in prop::collection::vec((0_u64..1_500, 0_usize..20, 0_usize..60), 1..60),
        ) {
            let budget = Budget::default();
            let (mut now, mut requests, mut attempts) = (0, Vec::new(), Vec::new());
            for (after, asked, tried) in steps {
                now += after;
                for _ in 0..asked {
                    budget.request(at(now));
                    requests.push(now);
                }
                let got = granted(&budget, at(now), tried);
                attempts.extend(std::iter::repeat_n(now, got));
                if got == 0 {
                    // what was granted before may be more than the requests of now would allow
                    continue;
                }
                let recent = |times: &[u64]| {
                    times.iter().filter(|time| **time + 10_000 > now).count()
                };
                let most = recent(&requests) / 5 + 30;
                prop_assert!(recent(&attempts) <= most, "{} of {most}", recent(&attempts));
            }
        }
    }
}
