//! How connections are served: limits and timeouts.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::Transports;
use crate::edge::EarlyRecorder;

/// Limits and timeouts of the listener.
///
/// The defaults are safe for an address that the internet can reach.
#[derive(Clone)]
pub struct ServeOptions {
    pub(super) header_read_timeout: Duration,
    pub(super) max_headers: usize,
    pub(super) max_header_bytes: usize,
    pub(super) h2_max_header_list: u32,
    pub(super) h2_max_streams: u32,
    pub(super) h2_ping_interval: Duration,
    pub(super) h2_ping_timeout: Duration,
    pub(super) max_connections: usize,
    pub(super) drain_deadline: Duration,
    pub(super) drain_delay: Duration,
    pub(super) linger: Duration,
    pub(super) recorder: Arc<dyn EarlyRecorder>,
    pub(super) transports: Transports,
}

impl ServeOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            header_read_timeout: Duration::from_secs(10),
            max_headers: 100,
            // Sixteen times what browsers send at most for one cookie; beyond it the answer is 431.
            max_header_bytes: 64 * 1024,
            // hyper's own default. h2's is 16 MiB, which one client could make us hold.
            h2_max_header_list: 16 * 1024,
            h2_max_streams: 200,
            h2_ping_interval: Duration::from_secs(20),
            h2_ping_timeout: Duration::from_secs(20),
            max_connections: 16_384,
            // Below the 30 s that supervisors commonly wait before they kill.
            drain_deadline: Duration::from_secs(25),
            drain_delay: Duration::ZERO,
            // Above the pauses of a client that is busy, and the time its request travels.
            linger: Duration::from_secs(2),
            recorder: Arc::new(|_: StatusCode| {}),
            transports: Transports::default(),
        }
    }

    /// 10 s by default: how long a client may take for a whole request head on HTTP/1.1, and for
    /// the first bytes of any connection. It also bounds how long a kept-alive HTTP/1.1
    /// connection may be idle.
    #[must_use]
    pub fn header_read_timeout(mut self, timeout: Duration) -> Self {
        self.header_read_timeout = timeout;
        self
    }

    /// 100 by default: how many header fields an HTTP/1.1 request may have; more is answered 431.
    #[must_use]
    pub fn max_headers(mut self, count: usize) -> Self {
        self.max_headers = count;
        self
    }

    /// 64 KiB by default: how many bytes an HTTP/1.1 request head may have; more is answered 431.
    /// Values under 8 KiB count as 8 KiB.
    #[must_use]
    pub fn max_header_bytes(mut self, bytes: usize) -> Self {
        self.max_header_bytes = bytes.max(SMALLEST_BUFFER);
        self
    }

    /// 16 KiB by default: the bytes of an HTTP/2 request's header list.
    #[must_use]
    pub fn h2_max_header_list(mut self, bytes: u32) -> Self {
        self.h2_max_header_list = bytes;
        self
    }

    /// 200 by default: how many streams one HTTP/2 connection may have open at once.
    #[must_use]
    pub fn h2_max_streams(mut self, streams: u32) -> Self {
        self.h2_max_streams = streams;
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

    /// 16,384 by default: at so many open connections no more is accepted until one ends.
    /// Tunnels do not count, they are requests that have been handed over.
    #[must_use]
    pub fn max_connections(mut self, count: usize) -> Self {
        self.max_connections = count.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
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
            .field("header_read_timeout", &self.header_read_timeout)
            .field("max_headers", &self.max_headers)
            .field("max_header_bytes", &self.max_header_bytes)
            .field("h2_max_header_list", &self.h2_max_header_list)
            .field("h2_max_streams", &self.h2_max_streams)
            .field("max_connections", &self.max_connections)
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

/// hyper panics on a smaller buffer.
const SMALLEST_BUFFER: usize = 8 * 1024;
