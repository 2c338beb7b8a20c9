//! [`AuthDetector`]: whether sessions that were moved fail to authenticate.
//!
//! A pod that keeps who is signed in in its own memory has never heard of a session that was moved
//! to it: the answer is a 401, a 403 or the way to the login page, and every pod by itself looks
//! well. Only the moved sessions of a group, held against those that stayed where they were, show
//! it.
//!
//! Sessions that have just begun are no measure for that: nobody is signed in at the start of a
//! session, so new ones meet the login page on every commit.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// The span over which answers are looked at.
pub const AUTH_WINDOW: Duration = Duration::from_secs(8);

/// How many answers there have to be in the window before their share tells anything.
pub const AUTH_LEAST: u64 = 20;

/// How many times the usual share is a burst.
pub const AUTH_FACTOR: f64 = 5.0;

/// The least share that is taken as usual: 1 %. So the share of a burst is above 5 %, also where
/// nobody else fails.
pub const AUTH_FLOOR: f64 = 0.01;

/// Answers, and those of them that are a failure to authenticate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuthCount {
    /// All answers.
    pub answered: u64,
    /// Those that are a 401, a 403 or send to a login page.
    pub failed: u64,
}

impl AuthCount {
    /// What was counted since `before`; nothing if counts have begun anew.
    const fn since(self, before: Self) -> Self {
        Self {
            answered: self.answered.saturating_sub(before.answered),
            failed: self.failed.saturating_sub(before.failed),
        }
    }

    const fn and(self, other: Self) -> Self {
        Self {
            answered: self.answered.saturating_add(other.answered),
            failed: self.failed.saturating_add(other.failed),
        }
    }

    /// The share that failed; `None` of too few answers.
    fn share(self) -> Option<f64> {
        let is_enough = self.answered >= AUTH_LEAST;
        is_enough.then(|| self.failed as f64 / self.answered as f64)
    }
}

/// What one group has answered since the start, by cohort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuthReading {
    /// To sessions that were moved.
    pub moved: AuthCount,
    /// To sessions that began before the last step, and stayed.
    pub established: AuthCount,
}

/// A burst that goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AuthExcess {
    /// What the group answered to moved sessions in the window that showed it last.
    pub moved: AuthCount,
    /// The share that was taken as usual: that of established sessions of all groups in the same
    /// window, at least [`AUTH_FLOOR`].
    pub usual: f64,
    /// When it was shown last.
    shown: Duration,
}

/// Looks at counts again and again, and tells of which groups moved sessions fail to authenticate.
///
/// Of a group, a burst begins when of at least [`AUTH_LEAST`] answers to moved sessions within
/// [`AUTH_WINDOW`] a share above [`AUTH_FACTOR`] times the usual one failed. It is over when that
/// was not so for a whole window.
#[derive(Clone, Debug, Default)]
pub struct AuthDetector {
    samples: VecDeque<Sample>,
    bursts: BTreeMap<String, AuthExcess>,
}

#[derive(Clone, Debug)]
struct Sample {
    at: Duration,
    groups: BTreeMap<String, AuthReading>,
}

/// So many looks fall into a window at most; the oldest are left out.
const MOST_SAMPLES: usize = 64;

impl AuthDetector {
    /// Takes in the counts of all groups at `now`, a time since whatever start that never goes
    /// back, and answers the bursts that go on. To be called about once a second.
    pub fn observe(
        &mut self,
        now: Duration,
        groups: BTreeMap<String, AuthReading>,
    ) -> &BTreeMap<String, AuthExcess> {
        let edge = now.saturating_sub(AUTH_WINDOW);
        // the last one before the window is where it is counted from
        while self.samples.get(1).is_some_and(|next| next.at <= edge)
            || self.samples.len() >= MOST_SAMPLES
        {
            self.samples.pop_front();
        }
        let none = BTreeMap::new();
        let before = self.samples.front().map_or(&none, |oldest| &oldest.groups);
        let windows = groups.iter().map(|(name, reading)| {
            let before = before.get(name).copied().unwrap_or_default();
            let moved = reading.moved.since(before.moved);
            (name, moved, reading.established.since(before.established))
        });
        let windows: Vec<_> = windows.collect();
        let established = windows
            .iter()
            .fold(AuthCount::default(), |all, (_, _, count)| all.and(*count));
        let usual = established.share().unwrap_or(0.0).max(AUTH_FLOOR);
        for (name, moved, _) in windows {
            if moved
                .share()
                .is_some_and(|share| share > AUTH_FACTOR * usual)
            {
                let shown = now;
                let excess = AuthExcess {
                    moved,
                    usual,
                    shown,
                };
                self.bursts.insert(name.clone(), excess);
            }
        }
        self.bursts.retain(|name, excess| {
            groups.contains_key(name) && now.saturating_sub(excess.shown) < AUTH_WINDOW
        });
        self.samples.push_back(Sample { at: now, groups });
        &self.bursts
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;

    /// Two groups, looked at each second.
    #[derive(Default)]
    struct Watch {
        detector: AuthDetector,
        counts: BTreeMap<String, AuthReading>,
        second: u64,
    }

    impl Watch {
        /// In one second B answers so to moved sessions, and A to established ones. Whether that is
        /// a burst of B.
        fn second(&mut self, moved: (u64, u64), established: (u64, u64)) -> bool {
            let count = |(answered, failed)| AuthCount { answered, failed };
            let b = self.counts.entry("B".to_owned()).or_default();
            b.moved = b.moved.and(count(moved));
            let a = self.counts.entry("A".to_owned()).or_default();
            a.established = a.established.and(count(established));
            self.second += 1;
            let now = Duration::from_secs(self.second);
            let bursts = self.detector.observe(now, self.counts.clone());
            assert!(!bursts.contains_key("A"), "{bursts:?}");
            bursts.contains_key("B")
        }

        fn seconds(&mut self, count: u64, moved: (u64, u64), established: (u64, u64)) -> bool {
            (0..count).map(|_| self.second(moved, established)).last() == Some(true)
        }
    }

    #[test]
    fn a_burst_is_told_with_the_twentieth_answer_and_is_over_a_window_after_its_last() {
        let mut watch = Watch::default();
        assert!(!watch.seconds(30, (0, 0), (100, 1)));
        assert!(!watch.second((19, 19), (100, 1)), "too few to tell");
        assert!(watch.second((1, 0), (100, 1)));
        // the window shows it for six seconds more, and then a window has to pass without it
        assert!(watch.seconds(13, (10, 0), (100, 1)));
        assert!(!watch.second((10, 0), (100, 1)));
    }

    #[test]
    fn a_burst_is_more_than_five_times_the_share_of_those_who_stayed() {
        for (failed, is_burst) in [(100, false), (101, true)] {
            let mut watch = Watch::default();
            watch.second((0, 0), (0, 0));
            let burst = watch.second((1_000, failed), (1_000, 20));
            assert_eq!(burst, is_burst, "{failed} of 1,000, where 2 % is usual");
        }
    }

    #[test]
    fn where_nobody_else_fails_or_is_there_five_per_cent_are_the_limit() {
        for established in [(1_000, 0), (0, 0), (10, 10)] {
            for (failed, is_burst) in [(5, false), (6, true)] {
                let mut watch = Watch::default();
                watch.second((0, 0), (0, 0));
                let burst = watch.second((100, failed), established);
                assert_eq!(burst, is_burst, "{failed} of 100, beside {established:?}");
            }
        }
    }

    #[test]
    fn what_fails_for_everybody_is_no_burst_of_a_group() {
        let mut watch = Watch::default();
        assert!(
            !watch.seconds(30, (50, 25), (500, 150)),
            "the login is down"
        );
    }

    #[test]
    fn counts_that_begin_anew_and_groups_that_leave_are_no_burst() {
        let mut detector = AuthDetector::default();
        let mut look = |second, moved| {
            let reading = |(answered, failed)| AuthReading {
                moved: AuthCount { answered, failed },
                ..AuthReading::default()
            };
            let groups = Option::map(moved, |moved| ("B".to_owned(), reading(moved)));
            let groups = groups.into_iter().collect();
            !detector
                .observe(Duration::from_secs(second), groups)
                .is_empty()
        };
        assert!(look(1, Some((100, 100))));
        assert!(!look(12, Some((100, 100))), "it is over");
        assert!(!look(13, Some((50, 50))), "below what it had");
        assert!(look(14, Some((150, 150))));
        assert!(!look(15, None), "it has left the rollout");
    }

    #[test]
    fn a_stalled_watch_counts_from_its_last_look() {
        let mut watch = Watch::default();
        watch.seconds(3, (0, 0), (10, 0));
        watch.second += 600;
        assert!(watch.second((40, 40), (10, 0)), "nothing is overlooked");
    }
}
