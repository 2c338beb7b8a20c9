//! [`Balancing`]: how endpoints of a group are chosen and left out.

use std::time::Duration;

/// How endpoints of a group are chosen and left out: the same for all groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balancing {
    /// Which of two endpoints is taken. Default: the one with fewer requests in flight.
    pub choice: Choice,
    /// How many requests one endpoint may have in flight. Default: any number.
    pub max_in_flight: Option<usize>,
    /// When an endpoint is left out for what became of its requests.
    pub ejection: EjectionPolicy,
    /// How long the share of an endpoint that comes to a group with others grows to that of the
    /// others. Default: zero, it has its share at once.
    pub slow_start: Duration,
}

/// Which one of two endpoints is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The one with fewer requests in flight.
    #[default]
    LeastInFlight,
    /// The one with the smaller product of requests in flight, with this one, and latency until
    /// the response head: an average that falls by half in seven seconds and rises at once to a
    /// greater value. It is measured to a millisecond.
    PeakEwma,
}

/// When an endpoint is ejected, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EjectionPolicy {
    /// So many failures in a row eject an endpoint. Default: 5.
    pub failures: u32,
    /// How long the first ejection lasts until one request tries the endpoint; each further one in
    /// a row lasts twice as long. Default: 1 s.
    pub base: Duration,
    /// The longest ejection. Default: 5 min.
    pub max: Duration,
}

impl Default for Balancing {
    fn default() -> Self {
        Self {
            choice: Choice::default(),
            max_in_flight: None,
            ejection: EjectionPolicy::default(),
            slow_start: Duration::ZERO,
        }
    }
}

impl Default for EjectionPolicy {
    fn default() -> Self {
        Self {
            failures: 5,
            base: Duration::from_secs(1),
            max: Duration::from_secs(300),
        }
    }
}
