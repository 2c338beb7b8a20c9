//! `[upstream]`: how long endpoints are waited for, and how their health is asked.

use std::time::Duration;

use super::retries::{self, Retries};
use super::scope;
use super::section::Section;
use super::span::Bounds;

/// How endpoints are dialled and watched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Upstream {
    /// How long a connection may take to open.
    pub connect_timeout: Duration,
    /// How long an endpoint may take until its response head.
    pub response_timeout: Duration,
    /// How often a request is sent again.
    pub retries: Retries,
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
    /// How many failures in a row make an endpoint unhealthy.
    pub unhealthy_after: u32,
    /// How many successes in a row make it healthy again.
    pub healthy_after: u32,
}

pub(super) fn read(upstream: &Section<'_>) -> Upstream {
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
    let health = upstream
        .field("health")
        .map(|field| health(&field.section()));
    upstream.finish();
    Upstream {
        connect_timeout,
        response_timeout,
        retries: retries.unwrap_or_default(),
        health,
    }
}

fn health(section: &Section<'_>) -> Health {
    let path = section
        .field("path")
        .and_then(|f| f.parsed(scope::PATH, scope::absolute_path));
    let interval = section
        .field("interval")
        .and_then(|f| f.duration(&INTERVAL));
    let count = |name, default| {
        let read = section.field(name).and_then(|field| field.integer(&COUNT));
        read.and_then(|n| u32::try_from(n).ok()).unwrap_or(default)
    };
    let (unhealthy_after, healthy_after) = (count("unhealthy_after", 2), count("healthy_after", 1));
    section.finish();
    Health {
        path: path.unwrap_or_else(|| "/livez".to_owned()),
        interval: interval.unwrap_or(Duration::from_secs(2)),
        unhealthy_after,
        healthy_after,
    }
}

const CONNECT: Bounds = Bounds::millis(10, 60_000);
const RESPONSE: Bounds = Bounds::millis(100, 86_400_000);
/// Faster checks would be load, slower ones would not notice a crash.
const INTERVAL: Bounds = Bounds::millis(100, 3_600_000);
const COUNT: std::ops::RangeInclusive<u64> = 1..=100;
