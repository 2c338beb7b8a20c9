//! How endpoints are reached, and whose word about the client is believed.

use std::time::Duration;

use ipnet::IpNet;

use crate::trust::TrustedProxies;

/// Timeouts of the leaf, the size of its pool, and the proxies it trusts.
#[derive(Clone, Debug)]
pub struct UpstreamOptions {
    pub(super) connect_timeout: Duration,
    pub(super) response_timeout: Duration,
    pub(super) pool_idle_timeout: Duration,
    pub(super) pool_max_idle: usize,
    pub(super) trusted_proxies: TrustedProxies,
}

impl UpstreamOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            connect_timeout: Duration::from_secs(1),
            response_timeout: Duration::from_secs(30),
            // Common servers keep an idle connection for 5 s (Node) to 75 s (nginx). Whoever
            // closes first wins; a connection that they close under a request costs a failure.
            pool_idle_timeout: Duration::from_millis(4_500),
            pool_max_idle: 128,
            trusted_proxies: TrustedProxies::default(),
        }
    }

    /// 1 s by default: how long the TCP connection to an endpoint may take.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// 30 s by default: how long the head of the answer may take, counted from the last progress
    /// of the request's body. The answer's body has no limit.
    #[must_use]
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.response_timeout = timeout;
        self
    }

    /// 4.5 s by default: how long an unused connection is kept. It must be shorter than the
    /// endpoints' own keep-alive.
    #[must_use]
    pub fn pool_idle_timeout(mut self, timeout: Duration) -> Self {
        self.pool_idle_timeout = timeout;
        self
    }

    /// 128 by default: how many unused connections are kept for one endpoint.
    #[must_use]
    pub fn pool_max_idle(mut self, count: usize) -> Self {
        self.pool_max_idle = count;
        self
    }

    /// None by default: the networks of the proxies in front, whose `X-Forwarded-*` and
    /// `Forwarded` fields are believed and passed on.
    #[must_use]
    pub fn trusted_proxies(mut self, networks: impl IntoIterator<Item = IpNet>) -> Self {
        self.trusted_proxies = networks.into_iter().collect();
        self
    }
}

impl Default for UpstreamOptions {
    fn default() -> Self {
        Self::new()
    }
}
