//! How connections are served.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::{ConnectionEvent, ConnectionRecorder, LiveLimits, Transports};
use crate::edge::EarlyRecorder;

/// How a listener serves and ends.
#[derive(Clone)]
pub struct ServeOptions {
    pub(super) limits: LiveLimits,
    pub(super) h2_ping_interval: Duration,
    pub(super) h2_ping_timeout: Duration,
    pub(super) drain_deadline: Duration,
    pub(super) drain_delay: Duration,
    pub(super) linger: Duration,
    pub(super) recorder: Arc<dyn EarlyRecorder>,
    pub(super) connections: Arc<dyn ConnectionRecorder>,
    pub(super) h2_idle: Duration,
    pub(super) transports: Transports,
}

impl ServeOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            limits: LiveLimits::default(),
            h2_ping_interval: Duration::from_secs(20),
            h2_ping_timeout: Duration::from_secs(20),
            // Below the 30 s that supervisors commonly wait before they kill.
            drain_deadline: Duration::from_secs(25),
            drain_delay: Duration::ZERO,
            // Above the pauses of a client that is busy, and the time its request travels.
            linger: Duration::from_secs(2),
            recorder: Arc::new(|_: StatusCode| {}),
            connections: Arc::new(|_: ConnectionEvent| {}),
            // Browsers give an idle connection up after about as long.
            h2_idle: Duration::from_secs(300),
            transports: Transports::default(),
        }
    }

    /// [`Limits::default`](super::Limits) by default: what clients may take. The handle is for one
    /// listener.
    #[must_use]
    pub fn limits(mut self, limits: LiveLimits) -> Self {
        self.limits = limits;
        self
    }

    /// 20 s and 20 s by default: after how much silence an HTTP/2 peer is pinged, and how long
    /// its answer may take before the connection is closed.
    #[must_use]
    pub fn h2_ping(mut self, interval: Duration, timeout: Duration) -> Self {
        self.h2_ping_interval = interval;
        self.h2_ping_timeout = timeout;
        self
    }

    /// 25 s by default: how long after the shutdown signal requests in flight and tunnels may go on
    /// before they are cut.
    #[must_use]
    pub fn drain_deadline(mut self, deadline: Duration) -> Self {
        self.drain_deadline = deadline;
        self
    }

    /// 0 s by default: how long after the shutdown signal everything goes on as before, so that
    /// who balances over several gateways can turn elsewhere first.
    #[must_use]
    pub fn drain_delay(mut self, delay: Duration) -> Self {
        self.drain_delay = delay;
        self
    }

    /// 2 s by default: how long a connection that is idle at the end waits for a last request,
    /// which is answered with `Connection: close`.
    #[must_use]
    pub fn linger(mut self, silence: Duration) -> Self {
        self.linger = silence;
        self
    }

    /// Nobody by default: who counts the requests that are answered before any service sees them.
    #[must_use]
    pub fn recorder(mut self, recorder: impl EarlyRecorder) -> Self {
        self.recorder = Arc::new(recorder);
        self
    }

    /// Nobody by default: who is told what happens to connections.
    #[must_use]
    pub fn connections(mut self, recorder: impl ConnectionRecorder) -> Self {
        self.connections = Arc::new(recorder);
        self
    }

    /// 5 min by default: how long an HTTP/2 connection is kept without a request.
    #[must_use]
    pub fn h2_idle(mut self, within: Duration) -> Self {
        self.h2_idle = within;
        self
    }

    /// Plain TCP by default: what connections pass before HTTP, the PROXY protocol and TLS.
    #[must_use]
    pub fn transports(mut self, transports: Transports) -> Self {
        self.transports = transports;
        self
    }
}

impl fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServeOptions")
            .field("limits", &self.limits)
            .field("drain_deadline", &self.drain_deadline)
            .field("drain_delay", &self.drain_delay)
            .field("transports", &self.transports)
            .finish_non_exhaustive()
    }
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self::new()
    }
}
