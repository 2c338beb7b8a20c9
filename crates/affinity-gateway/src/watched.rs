//! Tells what changes by itself: endpoints that go out of use, and whether clients are taken.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tower_affinity::balance::{EndpointState, Groups};
use tower_affinity::core::GroupName;

use crate::events::{Events, Kind};
use crate::reload::Running;

/// How often it is looked: what comes and goes in between is no event.
const LOOK: Duration = Duration::from_secs(1);

/// How many endpoints one event names.
const NAMED: usize = 8;

/// What was so at the last look.
#[derive(Debug, Default)]
struct Watch {
    /// Endpoints that are out of use, by their group.
    out: BTreeMap<GroupName, BTreeMap<SocketAddr, EndpointState>>,
    unready: Vec<String>,
}

/// Looks until `shutdown`.
pub(crate) async fn follow(running: Arc<Running>, shutdown: CancellationToken) {
    let (mut watch, control) = (Watch::default(), running.control().clone());
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = looks.tick() => {}
            () = shutdown.cancelled() => return,
        }
        watch.endpoints(control.groups(), control.events());
        watch.readiness(running.unready(), control.events());
    }
}

impl Watch {
    fn endpoints(&mut self, groups: &Groups, events: &Events) {
        let names = groups.names();
        self.out.retain(|name, _| names.contains(name));
        for name in names {
            let endpoints = groups.endpoints(&name);
            let out = endpoints.iter().map(|e| (e.address(), e.state()));
            let out: BTreeMap<_, _> = out.filter(|(_, state)| is_out(*state)).collect();
            let before = self
                .out
                .insert(name.clone(), out.clone())
                .unwrap_or_default();
            let new = out
                .iter()
                .filter(|(at, state)| before.get(at) != Some(state));
            let new: Vec<_> = new
                .map(|(at, state)| format!("{at} {}", state.as_str()))
                .collect();
            let back = before.keys().filter(|at| !out.contains_key(at));
            let is_there = |at: &&SocketAddr| endpoints.iter().any(|e| e.address() == **at);
            let back: Vec<_> = back
                .filter(is_there)
                .map(|at| format!("{at} back"))
                .collect();
            let left = endpoints.len() - out.len();
            if !new.is_empty() {
                let text = format!("{}; in use: {left} of {}", list(&new), endpoints.len());
                events.warn(Kind::Endpoint, Some(&name), &text);
            }
            if !back.is_empty() {
                let text = format!("{}; in use: {left} of {}", list(&back), endpoints.len());
                events.info(Kind::Endpoint, Some(&name), &text);
            }
        }
    }

    fn readiness(&mut self, unready: Vec<String>, events: &Events) {
        if unready == self.unready {
            return;
        }
        match unready.is_empty() {
            true => events.info(Kind::Ready, None, "ready"),
            false => events.warn(
                Kind::Ready,
                None,
                &format!("not ready: {}", unready.join("; ")),
            ),
        }
        self.unready = unready;
    }
}

fn is_out(state: EndpointState) -> bool {
    matches!(state, EndpointState::Unhealthy | EndpointState::Ejected)
}

/// The first ones, and how many more there are.
fn list(words: &[String]) -> String {
    let named = words.get(..NAMED).unwrap_or(words).join(", ");
    match words.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tower_affinity::balance::Source;
    use tower_affinity::core::Timestamp;
    use tower_affinity_testing::HandClock;

    use super::*;

    fn texts(events: &Events) -> Vec<String> {
        let all = events.after(None);
        all.iter().map(|event| event.text.clone()).collect()
    }

    #[test]
    fn an_endpoint_is_told_once_when_it_goes_and_once_when_it_is_back() {
        let clock = Arc::new(HandClock::at(Timestamp::from_secs(1_800_000_000)));
        let (groups, events) = (Groups::new((*clock).clone()), Events::new(clock));
        let group: GroupName = "aaa".parse().unwrap();
        let [one, two] = [7001, 7002].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        groups.update(&group, [one, two]);
        let mut watch = Watch::default();
        watch.endpoints(&groups, &events);
        assert!(texts(&events).is_empty(), "nothing has changed");
        groups.report(&group, one, Source::Health, EndpointState::Unhealthy);
        watch.endpoints(&groups, &events);
        watch.endpoints(&groups, &events);
        groups.report(&group, one, Source::Health, EndpointState::Ready);
        watch.endpoints(&groups, &events);
        assert_eq!(
            texts(&events),
            [
                "127.0.0.1:7001 unhealthy; in use: 1 of 2",
                "127.0.0.1:7001 back; in use: 2 of 2"
            ]
        );
    }

    #[test]
    fn readiness_is_told_when_it_changes() {
        let events = Events::new(Arc::new(HandClock::at(Timestamp::from_secs(1_800_000_000))));
        let mut watch = Watch::default();
        watch.readiness(Vec::new(), &events);
        assert!(texts(&events).is_empty(), "ready from the beginning");
        for _ in 0..2 {
            watch.readiness(vec!["one".to_owned(), "two".to_owned()], &events);
        }
        watch.readiness(Vec::new(), &events);
        assert_eq!(texts(&events), ["not ready: one; two", "ready"]);
    }
}
