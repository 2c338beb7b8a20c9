//! When each endpoint is asked: at once when it comes, and then in intervals of its own.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::task::AbortOnDropHandle;
use tower_affinity::balance::{Endpoint, Groups, Source};
use tower_affinity::core::GroupName;

use super::all;
use super::run::Run;
use crate::config::Health;
use crate::jitter::around;

/// The most checks under way at once, so that many endpoints that come together open few sockets.
const AT_ONCE: usize = 256;

/// How late it is noticed that an endpoint has come or gone.
const LOOK: Duration = Duration::from_millis(100);

/// Asks every endpoint of `groups`, for ever: `ask` says whether it is healthy, or `None` where it
/// could not be asked, which says nothing.
pub(super) async fn follow<A, F>(groups: Groups, health: Health, ask: A)
where
    A: Fn(GroupName, SocketAddr) -> F + Clone + Send + 'static,
    F: Future<Output = Option<bool>> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = Vec::new();
    // one task each; dropping its handle ends it
    let mut checked: HashMap<Id, (Arc<Endpoint>, AbortOnDropHandle<()>)> = HashMap::new();
    loop {
        looks.tick().await;
        let now = all(&groups);
        if is_same(&seen, &now) {
            continue;
        }
        let present: HashMap<Id, Arc<Endpoint>> = now
            .iter()
            .map(|(group, endpoint)| ((group.clone(), endpoint.address()), Arc::clone(endpoint)))
            .collect();
        checked.retain(|id, (endpoint, _)| {
            present
                .get(id)
                .is_some_and(|other| Arc::ptr_eq(endpoint, other))
        });
        for (id, endpoint) in present {
            checked.entry(id.clone()).or_insert_with(|| {
                let one = One {
                    groups: groups.clone(),
                    group: id.0,
                    endpoint: Arc::clone(&endpoint),
                    health: health.clone(),
                    places: Arc::clone(&places),
                };
                let task = tokio::spawn(one.repeat(ask.clone()));
                (endpoint, AbortOnDropHandle::new(task))
            });
        }
        seen = now;
    }
}

type Id = (GroupName, SocketAddr);

fn is_same(one: &[(GroupName, Arc<Endpoint>)], other: &[(GroupName, Arc<Endpoint>)]) -> bool {
    let pairs = || one.iter().zip(other);
    one.len() == other.len() && pairs().all(|(a, b)| a.0 == b.0 && Arc::ptr_eq(&a.1, &b.1))
}

/// The checks of one endpoint.
struct One {
    groups: Groups,
    group: GroupName,
    endpoint: Arc<Endpoint>,
    health: Health,
    places: Arc<Semaphore>,
}

impl One {
    async fn repeat<A, F>(self, ask: A)
    where
        A: Fn(GroupName, SocketAddr) -> F + Send,
        F: Future<Output = Option<bool>> + Send + 'static,
    {
        let mut run = Run::default();
        loop {
            // the semaphore is never closed
            let place = self.places.acquire().await;
            let healthy = ask(self.group.clone(), self.endpoint.address()).await;
            drop(place);
            if let Some(healthy) = healthy {
                run = run.then(healthy);
                self.settle(run);
            }
            sleep(around(self.health.interval, self.health.jitter_percent)).await;
        }
    }

    fn settle(&self, run: Run) {
        let known = self.endpoint.reported(Source::Health);
        let state = run.state(known, &self.health);
        if state != known {
            let (group, address) = (&self.group, self.endpoint.address());
            tracing::info!(%group, %address, state = state.as_str(), "endpoint state changed");
            self.groups.report(group, address, Source::Health, state);
        }
    }
}
