//! What became of a load.

use std::ops::AddAssign;
use std::time::Duration;

use super::Client;
use super::answer::Head;

/// What became of a load while it was measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) answers: u64,
    pub(crate) took: Duration,
    pub(crate) faults: Faults,
    /// From when a request was sent, or due, until its answer has ended; sorted.
    pub(crate) latencies: Vec<Duration>,
}

/// Answers that are not what they should be, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    pub(crate) group: u64,
    pub(crate) status: u64,
    pub(crate) cookie: u64,
    /// Connections that broke, or could not be made.
    pub(crate) broken: u64,
}

impl Faults {
    /// Judges an answer to a client.
    pub(crate) fn judge(&mut self, head: Head, client: &Client) {
        if head.status != 200 {
            self.status += 1;
        } else if client.group.is_none() {
            self.cookie += u64::from(!head.sets_cookie);
            self.group += u64::from(head.group.is_none());
        } else {
            self.group += u64::from(head.group != client.group);
        }
    }

    pub(crate) fn sum(&self) -> u64 {
        self.group + self.status + self.cookie + self.broken
    }
}

impl AddAssign for Faults {
    fn add_assign(&mut self, other: Self) {
        self.group += other.group;
        self.status += other.status;
        self.cookie += other.cookie;
        self.broken += other.broken;
    }
}

impl Outcome {
    /// The latency that this share of all requests does not exceed.
    pub(crate) fn latency(&self, share: f64) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        let at = (last as f64 * share) as usize;
        self.latencies.get(at).copied().unwrap_or_default()
    }

    /// Answers a second.
    pub(crate) fn rate(&self) -> f64 {
        self.answers as f64 / self.took.as_secs_f64()
    }
}
