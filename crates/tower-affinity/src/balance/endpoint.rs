//! One endpoint of a group: its address, what is in flight there, and what is known of its state.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tower_affinity_core::{EndpointId, Timestamp};

use super::ejection::Ejection;
use super::latency::Latency;

/// The least share of an endpoint that has just come: without any request it would not warm up.
const LEAST_SHARE: f32 = 0.01;

/// One address of a group. Its counters and states are kept for as long as the address stays in
/// the group's list.
#[derive(Debug)]
pub struct Endpoint {
    address: SocketAddr,
    id: EndpointId,
    in_flight: AtomicUsize,
    reports: [AtomicU8; Source::COUNT],
    ejection: Ejection,
    latency: Latency,
    /// Since when its share grows, in milliseconds; 0 once it has its whole share.
    starting: AtomicU64,
}

/// What an endpoint can be used for; the greater, the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum EndpointState {
    /// It takes requests.
    Ready,
    /// It takes requests and has just come: no check has answered yet, or its share of requests
    /// still grows.
    Starting,
    /// It is about to leave: it takes requests of the sessions that are bound to it, and no others.
    /// Those that it has are finished.
    Draining,
    /// It does not answer as it should.
    Unhealthy,
    /// Its requests failed: one tries it when it is time.
    Ejected,
}

/// Who says something about an endpoint's state. The worst report counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// Discovery.
    Control,
    /// Health checks.
    Health,
    /// An operator: [`Groups::drain`](super::Groups::drain).
    Operator,
}

impl Endpoint {
    /// An endpoint that nobody has reported anything about: it is ready.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            id: EndpointId::new(&address.to_string()),
            in_flight: AtomicUsize::new(0),
            reports: Default::default(),
            ejection: Ejection::default(),
            latency: Latency::default(),
            starting: AtomicU64::new(0),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its name in its group: its address as text.
    #[must_use]
    pub fn id(&self) -> &EndpointId {
        &self.id
    }

    /// How many requests it has: sent, and their body or tunnel has not ended.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Its state: the worst that a source reports, that its requests show, or that its start says.
    #[must_use]
    pub fn state(&self) -> EndpointState {
        if self.ejection.is_on() {
            return EndpointState::Ejected;
        }
        let start = match self.is_starting() {
            true => EndpointState::Starting,
            false => EndpointState::Ready,
        };
        self.worst_report().max(start)
    }

    fn worst_report(&self) -> EndpointState {
        let worst = self.reports.iter().map(|r| r.load(Ordering::Relaxed)).max();
        EndpointState::of(worst.unwrap_or_default())
    }

    /// Whether nobody reports anything against it, whatever its requests show.
    pub(super) fn is_ready(&self) -> bool {
        self.worst_report() <= EndpointState::Starting
    }

    /// What `source` last reported; ready before its first report.
    #[must_use]
    pub fn reported(&self, source: Source) -> EndpointState {
        let report = self.reports.get(source as usize);
        EndpointState::of(report.map_or(0, |report| report.load(Ordering::Relaxed)))
    }

    /// Whether it could be tried if nothing were known of its health.
    pub(super) fn is_usable(&self) -> bool {
        self.meant() <= EndpointState::Starting
    }

    /// What it is meant for, whatever its health is.
    fn meant(&self) -> EndpointState {
        let [found, wanted] = [Source::Control, Source::Operator].map(|by| self.reported(by));
        found.max(wanted)
    }

    /// Whether any request may use it, with its health ignored in a panic.
    pub(super) fn takes_any(&self, panics: bool) -> bool {
        match panics {
            true => self.is_usable(),
            false => self.is_ready(),
        }
    }

    /// Whether nobody reports that the sessions bound to it have to leave.
    pub(super) fn takes_bound(&self, panics: bool) -> bool {
        let report = match panics {
            true => self.meant(),
            false => self.worst_report(),
        };
        report <= EndpointState::Draining
    }

    pub(super) fn report(&self, source: Source, state: EndpointState) {
        if let Some(report) = self.reports.get(source as usize) {
            report.store(state as u8, Ordering::Relaxed);
        }
    }

    pub(super) fn ejection(&self) -> &Ejection {
        &self.ejection
    }

    pub(super) fn latency(&self) -> &Latency {
        &self.latency
    }

    /// Its share grows from now on.
    pub(super) fn start(&self, now: Timestamp) {
        self.starting
            .store(now.as_millis().max(1), Ordering::Relaxed);
    }

    pub(super) fn is_starting(&self) -> bool {
        self.starting.load(Ordering::Relaxed) != 0
    }

    /// Whether it takes requests and its whole share of them: nothing is known against it.
    pub(super) fn is_plain(&self) -> bool {
        self.is_ready() && !self.is_starting() && !self.ejection.is_on()
    }

    /// Its share of what it would have, above 0 and up to 1: it grows evenly over `slow_start`.
    pub(super) fn share(&self, slow_start: Duration, now: Timestamp) -> f32 {
        let since = self.starting.load(Ordering::Relaxed);
        if since == 0 {
            return 1.0;
        }
        let age = now.as_millis().saturating_sub(since) as f32 / 1000.0;
        let share = age / slow_start.as_secs_f32();
        // also for no time at all, where the quotient is no number
        if share < 1.0 {
            return share.max(LEAST_SHARE);
        }
        let settled =
            self.starting
                .compare_exchange(since, 0, Ordering::Relaxed, Ordering::Relaxed);
        // it started once more meanwhile: the next look sees that
        settled.map_or(LEAST_SHARE, |_| 1.0)
    }

    /// Counts one more request, unless it has `limit` of them.
    pub(super) fn enter(&self, limit: usize) -> bool {
        let has_room = self.in_flight.fetch_add(1, Ordering::Relaxed) < limit;
        if !has_room {
            self.leave();
        }
        has_room
    }

    pub(super) fn leave(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl EndpointState {
    /// All states, for closed label sets.
    pub const ALL: [Self; 5] = [
        Self::Ready,
        Self::Starting,
        Self::Draining,
        Self::Unhealthy,
        Self::Ejected,
    ];

    /// The word in labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Starting => "starting",
            Self::Draining => "draining",
            Self::Unhealthy => "unhealthy",
            Self::Ejected => "ejected",
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
    const COUNT: usize = 3;
}
