//! When a store that does not answer is left alone.

use std::time::Duration;

use crate::Timestamp;

/// Leaves a store alone that fails, and tries it again now and then.
///
/// It opens once at least [`FAILURES`](Self::FAILURES) calls of one second, and half of them all,
/// have failed. After [`PAUSE`](Self::PAUSE), up to half of it more, one call is let through; all are
/// once that has succeeded. A call that begins at most is one command, so a store that is back meets
/// no more traffic than usual.
#[derive(Debug, Default)]
pub struct Breaker {
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed {
        second: u64,
        calls: u32,
        failures: u32,
    },
    Open {
        until: Timestamp,
    },
    /// One call is under way that decides; another may begin if it has not said anything by then.
    Trying {
        until: Timestamp,
    },
}

impl Default for State {
    fn default() -> Self {
        Self::Closed {
            second: 0,
            calls: 0,
            failures: 0,
        }
    }
}

/// Whether a call may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may.
    Go,
    /// It may, and its outcome decides whether others may, too.
    Try,
    /// It fails at once.
    Refused,
}

/// What an outcome has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing that anybody has to hear of.
    None,
    /// The store is left alone from now on.
    Opened,
    /// The store answers again.
    Closed,
}

impl Breaker {
    /// The fewest failures of one second that open it.
    pub const FAILURES: u32 = 5;

    /// The least time that a failing store is left alone.
    pub const PAUSE: Duration = Duration::from_secs(1);

    /// How soon another call is tried after one that was given up: clients that leave at once make
    /// no flood of trials either.
    pub const AGAIN: Duration = Duration::from_millis(50);

    /// Whether a call may begin at `now`.
    pub fn admit(&mut self, now: Timestamp) -> Admission {
        match self.state {
            State::Closed { .. } => Admission::Go,
            State::Open { until } | State::Trying { until } if now < until => Admission::Refused,
            State::Open { .. } | State::Trying { .. } => {
                let until = now.plus(Self::PAUSE);
                self.state = State::Trying { until };
                Admission::Try
            }
        }
    }

    /// A call has ended that was let through as `admission`. `jitter`, from 0 to 1, spreads the
    /// trials of many replicas.
    pub fn ended(&mut self, admission: Admission, ok: bool, now: Timestamp, jitter: f32) -> Change {
        let until = now.plus(Self::PAUSE.mul_f32(1.0 + jitter.clamp(0.0, 1.0) / 2.0));
        match (&mut self.state, admission) {
            (
                State::Closed {
                    second,
                    calls,
                    failures,
                },
                Admission::Go,
            ) => {
                if *second != now.as_secs() {
                    (*second, *calls, *failures) = (now.as_secs(), 0, 0);
                }
                *calls += 1;
                *failures += u32::from(!ok);
                if *failures >= Self::FAILURES && *failures * 2 >= *calls {
                    self.state = State::Open { until };
                    return Change::Opened;
                }
                Change::None
            }
            (State::Trying { .. }, Admission::Try) if ok => {
                self.state = State::default();
                Change::Closed
            }
            (State::Trying { .. }, Admission::Try) => {
                self.state = State::Open { until };
                Change::None
            }
            // calls that began before it opened
            _ => Change::None,
        }
    }

    /// A call that was let through as `admission` was given up before its outcome. It has said
    /// nothing, and another may soon be tried: who goes away must not keep the store from all others.
    pub fn given_up(&mut self, admission: Admission, now: Timestamp) {
        if matches!(self.state, State::Trying { .. }) && admission == Admission::Try {
            let until = now.plus(Self::AGAIN);
            self.state = State::Open { until };
        }
    }

    /// Whether the store is asked as usual.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(10_000);

    fn after(millis: u64) -> Timestamp {
        NOW.plus(Duration::from_millis(millis))
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        for nth in 1..=Breaker::FAILURES {
            assert_eq!(breaker.admit(NOW), Admission::Go);
            let change = breaker.ended(Admission::Go, false, NOW, 0.0);
            let opens = nth == Breaker::FAILURES;
            assert_eq!(change == Change::Opened, opens, "after {nth} failures");
        }
        breaker
    }

    #[test]
    fn a_store_that_fails_is_left_alone_and_tried_once() {
        let mut breaker = opened();
        assert_eq!(breaker.admit(after(999)), Admission::Refused);
        assert_eq!(breaker.admit(after(1_000)), Admission::Try);
        assert_eq!(breaker.admit(after(1_000)), Admission::Refused, "a herd");
        let change = breaker.ended(Admission::Try, false, after(1_020), 0.0);
        assert_eq!(change, Change::None, "it was open before");
        assert_eq!(breaker.admit(after(2_019)), Admission::Refused);
        assert_eq!(breaker.admit(after(2_020)), Admission::Try);
        let change = breaker.ended(Admission::Try, true, after(2_021), 0.0);
        assert_eq!(change, Change::Closed);
        assert_eq!(breaker.admit(after(2_021)), Admission::Go);
    }

    #[test]
    fn a_few_failures_among_many_calls_do_not_open_it() {
        let mut breaker = Breaker::default();
        for nth in 0..1_000 {
            let change = breaker.ended(Admission::Go, nth % 3 != 0, NOW, 0.0);
            assert_eq!(change, Change::None, "call {nth}");
        }
        // nor do failures that are seconds apart
        for second in 1..100 {
            let at = after(second * 1_000);
            assert_eq!(breaker.ended(Admission::Go, false, at, 0.0), Change::None);
        }
    }

    #[test]
    fn a_trial_that_never_ends_does_not_keep_it_open_for_ever() {
        let mut breaker = opened();
        assert_eq!(breaker.admit(after(1_000)), Admission::Try);
        assert_eq!(breaker.admit(after(1_999)), Admission::Refused);
        assert_eq!(breaker.admit(after(2_000)), Admission::Try);
    }

    #[test]
    fn a_trial_that_is_given_up_is_soon_followed_by_another() {
        let mut breaker = opened();
        assert_eq!(breaker.admit(after(1_000)), Admission::Try);
        breaker.given_up(Admission::Go, after(1_001));
        assert_eq!(breaker.admit(after(1_100)), Admission::Refused, "not it");
        breaker.given_up(Admission::Try, after(1_100));
        assert_eq!(breaker.admit(after(1_149)), Admission::Refused, "a flood");
        assert_eq!(breaker.admit(after(1_150)), Admission::Try);
        let change = breaker.ended(Admission::Try, true, after(1_151), 0.0);
        assert_eq!(change, Change::Closed);
        breaker.given_up(Admission::Try, after(1_152));
        assert!(breaker.is_closed(), "what is over is not given up");
    }

    #[test]
    fn late_failures_of_calls_from_before_change_nothing() {
        let mut breaker = opened();
        assert_eq!(breaker.admit(after(1_000)), Admission::Try);
        breaker.ended(Admission::Go, false, after(1_001), 0.0);
        assert_eq!(
            breaker.ended(Admission::Try, true, after(1_002), 0.0),
            Change::Closed
        );
        assert!(breaker.is_closed());
    }

    #[test]
    fn jitter_spreads_the_trials_over_half_the_pause() {
        let mut breaker = opened();
        assert_eq!(breaker.admit(after(1_000)), Admission::Try);
        breaker.ended(Admission::Try, false, after(1_000), 1.0);
        assert_eq!(breaker.admit(after(2_499)), Admission::Refused);
        assert_eq!(breaker.admit(after(2_500)), Admission::Try);
    }
}
