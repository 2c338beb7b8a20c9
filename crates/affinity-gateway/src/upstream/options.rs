//! How endpoints are reached, and whose word about the client is believed.

use std::{collections::HashMap, time::Duration};

use ipnet::IpNet;
use tower_affinity::{core::GroupName, wire::PathPattern};

use super::{
    EndpointProtocol, EndpointTls,
    timeouts::{ByPath, Limits, Timeouts},
};
use crate::trust::TrustedProxies;

/// Protocols and timeouts of the leaf, the size of its pool, and the proxies it trusts.
#[derive(Clone, Debug)]
pub struct UpstreamOptions {
    pub(super) protocol: EndpointProtocol,
    pub(super) groups: HashMap<GroupName, EndpointProtocol>,
    pub(super) tls: Option<EndpointTls>,
    pub(super) connect_timeout: Duration,
    pub(super) limits: ByPath,
    pub(super) timeouts: Timeouts,
    pub(super) stalled_after: Duration,
    pub(super) pool_idle_timeout: Duration,
    pub(super) pool_max_idle: usize,
    pub(super) trusted_proxies: TrustedProxies,
}

impl UpstreamOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self {
            protocol: EndpointProtocol::default(),
            groups: HashMap::new(),
            tls: None,
            connect_timeout: Duration::from_secs(1),
            limits: ByPath::default(),
            timeouts: Timeouts::default(),
            stalled_after: Duration::from_secs(120),
            // Common servers keep an idle connection for 5 s (Node) to 75 s (nginx). Whoever
            // closes first wins; a connection that they close under a request costs a failure.
            pool_idle_timeout: Duration::from_millis(4_500),
            pool_max_idle: 128,
            trusted_proxies: TrustedProxies::default(),
        }
    }

    /// HTTP/1.1 by default: what endpoints speak whose group has no protocol of its own.
    #[must_use]
    pub fn protocol(mut self, protocol: EndpointProtocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// What the endpoints of `group` speak.
    #[must_use]
    pub fn group(mut self, group: GroupName, protocol: EndpointProtocol) -> Self {
        self.groups.insert(group, protocol);
        self
    }

    /// None by default: TLS to endpoints, for all protocols but [`EndpointProtocol::H2c`].
    #[must_use]
    pub fn tls(mut self, tls: Option<EndpointTls>) -> Self {
        self.tls = tls;
        self
    }

    /// 1 s by default: how long a connection to an endpoint may take to open, with its TLS.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// 30 s by default: how long the head of the answer may take, counted from the last progress
    /// of the request's body.
    #[must_use]
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.limits.otherwise.response = timeout;
        self
    }

    /// 5 min by default: how long an answer's body may bring nothing while the client waits for
    /// more of it. Event streams and tunnels have no such limit.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.limits.otherwise.idle = timeout;
        self
    }

    /// None by default: how long a whole exchange may take. Tunnels have no such limit.
    #[must_use]
    pub fn total_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.limits.otherwise.total = timeout;
        self
    }

    /// Other limits for some paths; the first pattern that matches counts.
    #[must_use]
    pub fn scope(mut self, path: PathPattern, limits: Limits) -> Self {
        self.limits.scopes.push((path, limits));
        self
    }

    /// The same without anybody who counts: for requests that are not clients'.
    #[must_use]
    pub(crate) fn unwatched(self) -> Self {
        self.timeouts(Timeouts::default())
    }

    /// By default nobody: who counts what took too long.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// 2 min by default: for how long an endpoint may take nothing of what is sent to it, also on a
    /// tunnel or after its answer; then the connection is closed. Linux only.
    #[must_use]
    pub fn stalled_after(mut self, timeout: Duration) -> Self {
        self.stalled_after = timeout;
        self
    }

    /// 4.5 s by default: how long an unused connection is kept. It must be shorter than the
    /// endpoints' own keep-alive.
    #[must_use]
    pub fn pool_idle_timeout(mut self, timeout: Duration) -> Self {
        self.pool_idle_timeout = timeout;
        self
    }

    /// 128 by default: how many unused connections are kept for one endpoint, on each runtime from
    /// which it is asked.
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
