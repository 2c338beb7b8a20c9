//! Active checks: each endpoint is asked on a schedule of its own, and its state follows its
//! answers.
//!
//! `ask` asks one endpoint once, `run` says what its answers in a row mean, `schedule` asks all of
//! them again and again.

mod ask;
mod run;
mod schedule;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;
use tower_affinity::balance::{Endpoint, EndpointState, Groups, Source};
use tower_affinity::core::GroupName;

pub(crate) use self::ask::Answer;
use self::ask::Asker;
use self::schedule::follow;
use crate::config;
use crate::upstream::UpstreamOptions;

/// Checks the endpoints of all groups until it is dropped.
#[derive(Debug)]
pub(crate) struct Checks {
    groups: Groups,
    complete: AtomicBool,
    _task: Option<AbortOnDropHandle<()>>,
}

impl Checks {
    /// Begins to check; without settings every endpoint is taken as healthy.
    /// They are spoken to as `options` say, and `count` hears each answer.
    pub(crate) fn begin(
        groups: Groups,
        upstream: &config::Upstream,
        options: &UpstreamOptions,
        count: impl Fn(&GroupName, Answer) + Send + Sync + 'static,
    ) -> Self {
        groups.expect_checks(upstream.health.is_some());
        // at the most until the checks of the other groups have failed as well
        let doubt = upstream.health.as_ref().map(|health| {
            let round = health.interval * (health.unhealthy_after + 1);
            round.min(LONGEST_DOUBT)
        });
        groups.hesitate(doubt.unwrap_or_default());
        let task = match &upstream.health {
            Some(health) => {
                let asker = Arc::new(Asker::new(health, options));
                let count = Arc::new(count);
                let ask = move |group: GroupName, address| {
                    let (asker, count) = (Arc::clone(&asker), Arc::clone(&count));
                    async move {
                        let answer = asker.ask(&group, address).await;
                        count(&group, answer);
                        answer.healthy()
                    }
                };
                let checks = follow(groups.clone(), health.clone(), ask);
                Some(AbortOnDropHandle::new(tokio::spawn(checks)))
            }
            None => {
                // what earlier checks said counts no more
                for (group, endpoint) in all(&groups) {
                    let ready = EndpointState::Ready;
                    groups.report(&group, endpoint.address(), Source::Health, ready);
                }
                None
            }
        };
        Self {
            groups,
            complete: AtomicBool::new(false),
            _task: task,
        }
    }

    /// Whether there was a moment at which every endpoint had been asked at least once.
    pub(crate) fn is_complete(&self) -> bool {
        let asked = |(_, endpoint): &(_, Arc<Endpoint>)| is_asked(endpoint);
        let complete = self.complete.load(Ordering::Acquire) || all(&self.groups).iter().all(asked);
        if complete {
            self.complete.store(true, Ordering::Release);
        }
        complete
    }
}

/// Whether an endpoint has answered, or failed to, since it came.
fn is_asked(endpoint: &Endpoint) -> bool {
    endpoint.reported(Source::Health) != EndpointState::Starting
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

/// While a group is doubted, requests wait for endpoints that may be dead.
const LONGEST_DOUBT: Duration = Duration::from_secs(1);
