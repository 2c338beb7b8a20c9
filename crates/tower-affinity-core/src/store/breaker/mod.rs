//! When a store that does not answer is left alone.

mod seen;
#[cfg(test)]
mod tests;

use std::time::Duration;

use self::seen::Seen;
use crate::Timestamp;

/// Leaves a store alone that fails, and tries it again now and then.
///
/// It opens once at least [`FAILURES`](Self::FAILURES) calls of one second, and half of them all,
/// have failed; or as many in a row, over [`SILENCE`](Self::SILENCE) or longer, so that what went well
/// before does not keep it closed. After [`PAUSE`](Self::PAUSE), up to half of it more, one call is
/// let through; all are once that has succeeded. A call that begins at most is one command, so a
/// store that is back meets no more traffic than usual.
#[derive(Debug, Default)]
pub struct Breaker {
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed(Seen),
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
        Self::Closed(Seen::default())
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
    /// The fewest failures that open it.
    pub const FAILURES: u32 = 5;

    /// How long calls may fail in a row before that opens it.
    pub const SILENCE: Duration = Duration::from_millis(100);

    /// The least time that a failing store is left alone.
    pub const PAUSE: Duration = Duration::from_secs(1);

    /// How soon another call is tried after one that was given up: clients that leave at once make
    /// no flood of trials either.
    pub const AGAIN: Duration = Duration::from_millis(50);

    /// Whether a call may begin at `now`.
    pub fn admit(&mut self, now: Timestamp) -> Admission {
        match self.state {
            State::Closed(_) => Admission::Go,
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
            (State::Closed(seen), Admission::Go) => {
                if seen.count(ok, now) {
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
        matches!(self.state, State::Closed(_))
    }
}
