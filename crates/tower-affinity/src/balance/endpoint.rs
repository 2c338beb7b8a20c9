//! One endpoint of a group: its address, what is in flight there, and what is known of its state.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use super::rest::Rest;

/// One address of a group. Its counters and states are kept for as long as the address stays in
/// the group's list.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    in_flight: AtomicUsize,
    reports: [AtomicU8; Source::COUNT],
    rest: Rest,
}

/// What an endpoint can be used for; the greater, the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EndpointState {
    /// It takes requests.
    Ready,
    /// It is about to leave and takes no more requests; those that it has are finished.
    Draining,
    /// It does not answer as it should.
    Unhealthy,
}

/// Who says something about an endpoint's state. The worst report counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// Discovery or an operator.
    Control,
    /// Health checks.
    Health,
}

impl Endpoint {
    /// An endpoint that nobody has reported anything about: it is ready.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            in_flight: AtomicUsize::new(0),
            reports: Default::default(),
            rest: Rest::default(),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many requests it has: sent, and their body or tunnel has not ended.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Its state: the worst that a source reports.
    #[must_use]
    pub fn state(&self) -> EndpointState {
        let worst = self.reports.iter().map(|r| r.load(Ordering::Relaxed)).max();
        EndpointState::of(worst.unwrap_or_default())
    }

    /// What `source` last reported; ready before its first report.
    #[must_use]
    pub fn reported(&self, source: Source) -> EndpointState {
        let report = self.reports.get(source as usize);
        EndpointState::of(report.map_or(0, |report| report.load(Ordering::Relaxed)))
    }

    /// Whether it could be tried if nothing were known of its health.
    pub(super) fn is_usable(&self) -> bool {
        self.reported(Source::Control) == EndpointState::Ready
    }

    pub(super) fn report(&self, source: Source, state: EndpointState) {
        if let Some(report) = self.reports.get(source as usize) {
            report.store(state as u8, Ordering::Relaxed);
        }
    }

    pub(super) fn rest(&self) -> &Rest {
        &self.rest
    }

    pub(super) fn enter(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn leave(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl EndpointState {
    /// All states, for closed label sets.
    pub const ALL: [Self; 3] = [Self::Ready, Self::Draining, Self::Unhealthy];

    /// The word in labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Draining => "draining",
            Self::Unhealthy => "unhealthy",
        }
    }

    fn of(number: u8) -> Self {
        Self::ALL
            .into_iter()
            .find(|state| *state as u8 == number)
            .unwrap_or(Self::Ready)
    }
}

impl Source {
    const COUNT: usize = 2;
}
