//! Active checks: each endpoint is asked in turn, and its state follows its answers.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Empty;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tower::ServiceExt;
use tower_affinity::balance::{Endpoint, EndpointState, Groups, Source};
use tower_affinity::core::GroupName;

use crate::config::{self, Health};
use crate::serve::Tunnels;
use crate::upstream::{EndpointService, Upstream, UpstreamOptions};

/// The most checks under way at once, so that a round of many endpoints opens few sockets.
const AT_ONCE: usize = 64;

/// Checks the endpoints of all groups until it is dropped.
#[derive(Debug)]
pub(crate) struct Checks {
    task: tokio::task::JoinHandle<()>,
    checked: Arc<AtomicBool>,
}

impl Checks {
    /// Begins to check; without settings every endpoint is taken as healthy.
    /// They are spoken to as `options` say.
    pub(crate) fn begin(
        groups: Groups,
        upstream: &config::Upstream,
        options: &UpstreamOptions,
    ) -> Self {
        // each check of HTTP/1.1 opens a connection, so that it tells whether one can be opened
        let options = options.clone().pool_max_idle(0).unwatched();
        let checked = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&checked);
        let health = upstream.health.clone();
        let limit = upstream.connect_timeout + upstream.response_timeout;
        let task = tokio::spawn(async move {
            match health {
                Some(health) => {
                    let limit = limit.min(health.interval.max(Duration::from_secs(1)));
                    Checker {
                        groups,
                        limit,
                        health,
                        upstream: Upstream::new(options, Tunnels::new()),
                        runs: HashMap::new(),
                    }
                    .run(&done)
                    .await;
                }
                None => {
                    // what earlier checks said counts no more
                    for (group, endpoint) in all(&groups) {
                        let ready = EndpointState::Ready;
                        groups.report(&group, endpoint.address(), Source::Health, ready);
                    }
                    done.store(true, Ordering::Release);
                }
            }
        });
        Self { task, checked }
    }

    /// Whether every endpoint was asked at least once.
    pub(crate) fn is_complete(&self) -> bool {
        self.checked.load(Ordering::Acquire)
    }
}

impl Drop for Checks {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Checker {
    groups: Groups,
    health: Health,
    upstream: Upstream<Empty<Bytes>>,
    limit: Duration,
    /// How many equal answers in a row each endpoint has given.
    runs: HashMap<(GroupName, SocketAddr), Run>,
}

#[derive(Clone, Copy, Default)]
struct Run {
    healthy: bool,
    length: u32,
}

impl Checker {
    async fn run(mut self, done: &AtomicBool) {
        let mut ticks = interval(self.health.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.round().await;
            done.store(true, Ordering::Release);
        }
    }

    async fn round(&mut self) {
        let mut asked: JoinSet<(GroupName, Arc<Endpoint>, bool)> = JoinSet::new();
        let all = all(&self.groups);
        self.runs.retain(|(group, address), _| {
            all.iter()
                .any(|(name, endpoint)| name == group && endpoint.address() == *address)
        });
        for (group, endpoint) in all {
            if asked.len() >= AT_ONCE
                && let Some(Ok(answer)) = asked.join_next().await
            {
                self.settle(answer);
            }
            let leaf = self
                .upstream
                .endpoint(endpoint.address())
                .group(group.clone());
            let (path, limit) = (self.health.path.clone(), self.limit);
            asked.spawn(async move {
                let healthy = ask(leaf, endpoint.address(), &path, limit).await;
                (group, endpoint, healthy)
            });
        }
        while let Some(answer) = asked.join_next().await {
            match answer {
                Ok(answer) => self.settle(answer),
                Err(error) => tracing::error!(%error, "a health check failed to run"),
            }
        }
    }

    fn settle(&mut self, (group, endpoint, healthy): (GroupName, Arc<Endpoint>, bool)) {
        let first = !self.runs.contains_key(&(group.clone(), endpoint.address()));
        let run = self
            .runs
            .entry((group.clone(), endpoint.address()))
            .or_default();
        *run = match run.healthy == healthy && !first {
            true => Run {
                healthy,
                length: run.length.saturating_add(1),
            },
            false => Run { healthy, length: 1 },
        };
        let needed = if healthy {
            self.health.healthy_after
        } else {
            self.health.unhealthy_after
        };
        // the first answer counts at once: nothing else is known of the endpoint
        if !(first || run.length >= needed) {
            return;
        }
        let state = if healthy {
            EndpointState::Ready
        } else {
            EndpointState::Unhealthy
        };
        if endpoint.reported(Source::Health) != state {
            tracing::info!(%group, address = %endpoint.address(), ?state, "endpoint state changed");
            self.groups
                .report(&group, endpoint.address(), Source::Health, state);
        }
    }
}

fn all(groups: &Groups) -> Vec<(GroupName, Arc<Endpoint>)> {
    let names = groups.names().into_iter();
    names
        .flat_map(|name| {
            let endpoints = groups.endpoints(&name);
            endpoints
                .into_iter()
                .map(move |endpoint| (name.clone(), endpoint))
        })
        .collect()
}

async fn ask(
    leaf: EndpointService<Empty<Bytes>>,
    address: SocketAddr,
    path: &str,
    limit: Duration,
) -> bool {
    let request = Request::builder()
        .method(Method::GET)
        .uri(format!("http://{address}{path}"))
        .body(Empty::new());
    let Ok(request) = request else { return false };
    matches!(timeout(limit, leaf.oneshot(request)).await, Ok(Ok(r)) if r.status().is_success())
}
