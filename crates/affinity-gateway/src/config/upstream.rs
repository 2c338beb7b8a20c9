//! `[upstream]`: how endpoints are spoken to and waited for, and how their health is asked.

use std::net::SocketAddr;
use std::time::Duration;

use tower_affinity::balance::Balancing;

use super::Sources;
use super::balance;
use super::discovery;
use super::endpoint_tls::{self, UpstreamTls};
use super::field::Field;
use super::group::GroupSetting;
use super::retries::{self, Retries};
use super::scope;
use super::section::Section;
use super::span::Bounds;
use crate::upstream::EndpointProtocol;

/// How endpoints are dialled and watched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Upstream {
    /// What endpoints speak whose group says nothing else.
    pub protocol: EndpointProtocol,
    /// TLS to all endpoints but those of `h2c`; `None`: none.
    pub tls: Option<UpstreamTls>,
    /// How long a connection may take to open.
    pub connect_timeout: Duration,
    /// How long an endpoint may take until its response head.
    pub response_timeout: Duration,
    /// How often a request is sent again.
    pub retries: Retries,
    /// How long an answer's body may bring nothing; streaming scopes have no such limit.
    pub idle_timeout: Duration,
    /// How long a whole exchange may take; `None`: for ever.
    pub total_timeout: Option<Duration>,
    /// How endpoints of a group are chosen and left out.
    pub balancing: Balancing,
    /// Who is asked for the names of groups; none: those of the system.
    pub dns_servers: Vec<SocketAddr>,
    /// Active checks; `None`: endpoints are taken as healthy.
    pub health: Option<Health>,
}

/// Active health checks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The absolute path that is asked; a 2xx answer is healthy.
    pub path: String,
    /// The time between two checks of one endpoint.
    pub interval: Duration,
    /// How long an endpoint may take to answer.
    pub timeout: Duration,
    /// By how much of it each interval may be longer or shorter.
    pub jitter_percent: u32,
    /// How many failures in a row make an endpoint unhealthy.
    pub unhealthy_after: u32,
    /// How many successes in a row make it healthy again.
    pub healthy_after: u32,
}

impl Upstream {
    /// Whether connections to endpoints, and their checks, are the same: whom a request is given to
    /// and how often needs no new ones.
    pub(crate) fn dials_like(&self, other: &Self) -> bool {
        let same = Self {
            balancing: other.balancing.clone(),
            retries: other.retries,
            dns_servers: other.dns_servers.clone(),
            ..self.clone()
        };
        same == *other
    }
}

pub(super) fn read(upstream: &Section<'_>, sources: &Sources<'_>) -> Upstream {
    let protocol = upstream
        .field("protocol")
        .and_then(|field| protocol(&field));
    let tls = upstream
        .field("tls")
        .and_then(|field| endpoint_tls::read(&field.section(), sources));
    let span = |name, bounds, default| {
        upstream
            .field(name)
            .and_then(|field| field.duration(bounds))
            .unwrap_or(default)
    };
    let connect_timeout = span("connect_timeout", &CONNECT, Duration::from_secs(1));
    let response_timeout = span("response_timeout", &RESPONSE, Duration::from_secs(30));
    let retries = upstream.field("retries");
    let retries = retries.map(|field| retries::read(&field.section()));
    let idle_timeout = span("idle_timeout", &IDLE, Duration::from_secs(300));
    let total_timeout = upstream
        .field("total_timeout")
        .and_then(|field| field.duration(&TOTAL));
    let balancing = balance::read(upstream);
    let dns_servers = upstream
        .field("dns")
        .map(|field| discovery::servers(&field.section()));
    let health = upstream
        .field("health")
        .map(|field| health(&field.section(), connect_timeout + response_timeout));
    upstream.finish();
    Upstream {
        protocol: protocol.unwrap_or_default(),
        tls,
        connect_timeout,
        response_timeout,
        retries: retries.unwrap_or_default(),
        idle_timeout,
        total_timeout,
        balancing,
        dns_servers: dns_servers.unwrap_or_default(),
        health,
    }
}

pub(super) fn protocol(field: &Field<'_>) -> Option<EndpointProtocol> {
    field.word(&EndpointProtocol::WORDS)
}

/// What is spoken has to fit whether there is TLS.
pub(super) fn check(root: &Section<'_>, upstream: &Upstream, groups: &[GroupSetting]) {
    let own = groups.iter().filter_map(|group| group.protocol);
    let spoken = || own.clone().chain([upstream.protocol]);
    let section = root.section("upstream");
    if upstream.tls.is_none() && spoken().any(|protocol| protocol == EndpointProtocol::H2) {
        section.missing(
            "tls",
            "{ ca = \"ca.pem\" }, since \"h2\" is spoken over TLS",
        );
    }
    if upstream.tls.is_some() && spoken().all(|protocol| protocol == EndpointProtocol::H2c) {
        let message = "has no effect, since all endpoints speak \"h2c\"; accepted: without it";
        section.refuse("tls", message);
    }
}

/// No check waits longer than `patience`, as a request would, unless the file says so.
fn health(section: &Section<'_>, patience: Duration) -> Health {
    let path = section
        .field("path")
        .and_then(|f| f.parsed(scope::PATH, scope::absolute_path));
    let interval = section
        .field("interval")
        .and_then(|f| f.duration(&INTERVAL))
        .unwrap_or(Duration::from_secs(2));
    let timeout = section
        .field("timeout")
        .and_then(|field| field.duration(&CHECK));
    let number = |name, range, default| {
        let read = section.field(name).and_then(|field| field.integer(range));
        read.and_then(|n| u32::try_from(n).ok()).unwrap_or(default)
    };
    let jitter_percent = number("jitter_percent", &JITTER, 20);
    let unhealthy_after = number("unhealthy_after", &COUNT, 2);
    let healthy_after = number("healthy_after", &COUNT, 1);
    section.finish();
    Health {
        path: path.unwrap_or_else(|| "/livez".to_owned()),
        interval,
        timeout: timeout.unwrap_or(patience.min(interval.max(Duration::from_secs(1)))),
        jitter_percent,
        unhealthy_after,
        healthy_after,
    }
}

const CONNECT: Bounds = Bounds::millis(10, 60_000);
pub(super) const RESPONSE: Bounds = Bounds::millis(100, 86_400_000);
pub(super) const IDLE: Bounds = Bounds::millis(100, 86_400_000);
pub(super) const TOTAL: Bounds = Bounds::millis(100, 86_400_000);
/// Faster checks would be load, slower ones would not notice a crash.
const INTERVAL: Bounds = Bounds::millis(100, 3_600_000);
/// As long as the longest interval.
const CHECK: Bounds = Bounds::millis(10, 3_600_000);
const JITTER: std::ops::RangeInclusive<u64> = 0..=50;
const COUNT: std::ops::RangeInclusive<u64> = 1..=100;
