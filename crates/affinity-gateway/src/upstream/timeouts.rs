//! How long each part of an exchange may take, and how often one took too long.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use metrics::Counter;
use tower_affinity::wire::PathPattern;

/// What took too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeoutKind {
    /// Opening a connection, its TLS handshake included.
    Connect,
    /// The head of an answer.
    Response,
    /// The next piece of an answer's body.
    Idle,
    /// The whole exchange.
    Total,
}

impl TimeoutKind {
    /// All kinds, for a closed label set.
    pub const ALL: [Self; 4] = [Self::Connect, Self::Response, Self::Idle, Self::Total];

    /// The word in labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Response => "response",
            Self::Idle => "idle",
            Self::Total => "total",
        }
    }
}

/// Counts timeouts by kind; by default nothing is counted.
#[derive(Clone)]
pub struct Timeouts(Arc<[Counter; TimeoutKind::ALL.len()]>);

impl Timeouts {
    /// Counts with the counters that `register` gives.
    pub fn new(register: impl FnMut(TimeoutKind) -> Counter) -> Self {
        Self(Arc::new(TimeoutKind::ALL.map(register)))
    }

    /// Those of the endpoint at `address`.
    pub(super) fn of(&self, address: SocketAddr) -> EndpointTimeouts {
        EndpointTimeouts {
            timeouts: self.clone(),
            address,
        }
    }
}

/// Counts the timeouts of one endpoint, and says which one it was.
#[derive(Clone, Debug)]
pub(super) struct EndpointTimeouts {
    timeouts: Timeouts,
    address: SocketAddr,
}

impl EndpointTimeouts {
    pub(super) fn note(&self, kind: TimeoutKind) {
        let address = self.address;
        tracing::info!(%address, kind = kind.as_str(), "an endpoint took too long");
        if let Some(counter) = self.timeouts.0.get(kind as usize) {
            counter.increment(1);
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self::new(|_| Counter::noop())
    }
}

impl std::fmt::Debug for Timeouts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Timeouts")
    }
}

/// How long the exchanges of some paths may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Until the head of the answer, counted from the last progress of the request's body.
    pub response: Duration,
    /// Between two pieces of the answer's body. An event stream has no such limit.
    pub idle: Option<Duration>,
    /// For the whole exchange.
    pub total: Option<Duration>,
}

impl Default for Limits {
    /// 30 s, 5 min, none.
    fn default() -> Self {
        Self {
            response: Duration::from_secs(30),
            idle: Some(Duration::from_secs(300)),
            total: None,
        }
    }
}

impl Limits {
    /// What is left of them when `elapsed` has passed.
    pub(super) fn after(self, elapsed: Duration) -> Self {
        Self {
            response: self.response.saturating_sub(elapsed),
            total: self.total.map(|total| total.saturating_sub(elapsed)),
            ..self
        }
    }

    /// The same with another limit until the head.
    #[must_use]
    pub fn response(self, response: Duration) -> Self {
        Self { response, ..self }
    }

    /// The same with another limit between two pieces.
    #[must_use]
    pub fn idle(self, idle: Option<Duration>) -> Self {
        Self { idle, ..self }
    }

    /// The same with another limit for everything.
    #[must_use]
    pub fn total(self, total: Option<Duration>) -> Self {
        Self { total, ..self }
    }
}

/// The limits of all paths: the first pattern that matches counts.
#[derive(Clone, Debug, Default)]
pub(super) struct ByPath {
    pub(super) otherwise: Limits,
    pub(super) scopes: Vec<(PathPattern, Limits)>,
}

impl ByPath {
    pub(super) fn of(&self, path: &str) -> Limits {
        let scope = self.scopes.iter().find(|(scope, _)| scope.matches(path));
        scope.map_or(self.otherwise, |(_, limits)| *limits)
    }
}
