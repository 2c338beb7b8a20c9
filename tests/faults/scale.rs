//! How hard and how long a fault is run.

use std::time::Duration;

/// The size of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Requests a second.
    pub(crate) rate: u32,
    /// Sessions.
    pub(crate) sessions: usize,
    /// By how much a phase is longer than in the short form.
    longer: u32,
    /// A latency may grow by this factor, and by that much more.
    factor: f64,
    slack: Duration,
}

impl Scale {
    /// The short form in a test run, the full one if `AFFINITY_FAULTS` is `full`.
    ///
    /// # Panics
    ///
    /// If the variable says something else.
    pub(crate) fn of_environment() -> Self {
        match std::env::var("AFFINITY_FAULTS").as_deref() {
            Err(_) | Ok("short") => Self {
                rate: 100,
                sessions: 30,
                longer: 1,
                factor: 4.0,
                slack: Duration::from_millis(250),
            },
            Ok("full") => Self {
                rate: 2000,
                sessions: 500,
                longer: 6,
                factor: 2.0,
                slack: Duration::from_millis(10),
            },
            Ok(other) => panic!("AFFINITY_FAULTS is neither short nor full: {other}"),
        }
    }

    /// So many bad clients, or a tenth of them in the short form.
    pub(crate) fn clients(self, full: usize) -> usize {
        match self.longer {
            1 => full / 10,
            _ => full,
        }
    }

    /// Whether it is the long form.
    pub(crate) fn is_full(self) -> bool {
        self.longer > 1
    }

    /// By how much more a pod can do than in the short form.
    pub(crate) fn unit(self) -> u32 {
        if self.is_full() { 5 } else { 1 }
    }

    /// The least share of something that has to be `share`; other tests share the machine.
    pub(crate) fn least(self, share: f64) -> f64 {
        if self.is_full() { share } else { share - 0.07 }
    }

    /// A phase that takes `seconds` in the short form.
    pub(crate) fn phase(self, seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds) * self.longer
    }

    /// The greatest latency that counts as "as before"; other tests share the machine.
    pub(crate) fn tolerated(self, before: Duration) -> Duration {
        before.mul_f64(self.factor) + self.slack
    }
}
