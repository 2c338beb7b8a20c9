//! Drained: never said while a pin that was issued can be valid, against a list of all of them.

use std::time::Duration;

use proptest::prelude::*;
use tower_affinity::Expiries;
use tower_affinity::core::{Clock, GroupName, State, Timestamp};
use tower_affinity_testing::{id, name};

use crate::support::{COOKIE_NAME, Site, TA, TI, ask};

/// One thing that happens; numbers choose a client, a group or a span.
#[derive(Clone, Debug)]
enum Event {
    Arrive,
    Return(usize),
    Stream(usize),
    Drain,
    Weigh(u64),
    Wait(u64),
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => Just(Event::Arrive),
        6 => any::<usize>().prop_map(Event::Return),
        1 => any::<usize>().prop_map(Event::Stream),
        1 => Just(Event::Drain),
        1 => (1..100_u64).prop_map(Event::Weigh),
        4 => (0..TI * 2).prop_map(Event::Wait),
    ]
}

/// A site, its clients' cookies, and every pin that it ever issued.
struct World {
    site: Site,
    expiries: Expiries,
    cookies: Vec<String>,
    issued: Vec<(GroupName, Timestamp)>,
}

impl World {
    fn new() -> Self {
        let expiries = Expiries::default();
        let told = expiries.clone();
        let site = Site::with(|builder| builder.expiries(told));
        site.change(|rollout, change| {
            let even = [("A", 50), ("B", 50)]
                .map(|(group, share)| (name(group), tower_affinity_testing::weight(share)));
            rollout.weights(&even.into(), change)
        });
        Self {
            site,
            expiries,
            cookies: Vec::new(),
            issued: Vec::new(),
        }
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::Arrive => self.ask(None, "/"),
            Event::Return(nth) => self.ask(Some(*nth), "/"),
            Event::Stream(nth) => self.ask(Some(*nth), "/events"),
            Event::Wait(secs) => self.site.advance(*secs),
            Event::Drain => {
                let stable = self.site.rollouts.current().stable().clone();
                let other = if stable == name("A") { "B" } else { "A" };
                let now = self.site.clock.now();
                // what drains already drains on
                let drained = self.site.rollouts.update(|rollout| {
                    rollout.drain(&name(other), tower_affinity_testing::after(rollout, now))
                });
                assert!(drained.is_ok(), "{drained:?}");
            }
            Event::Weigh(share) => self.site.change(|rollout, change| {
                let weight = tower_affinity_testing::weight(*share);
                rollout.weights(&[(name("B"), weight)].into(), change)
            }),
        }
        self.check();
    }

    fn ask(&mut self, client: Option<usize>, path: &str) {
        let client = client.filter(|_| !self.cookies.is_empty());
        let client = client.map(|nth| nth % self.cookies.len());
        let cookie = client.map(|nth| format!("{COOKIE_NAME}={}", self.cookies[nth]));
        let headers: Vec<_> = cookie.iter().map(|c| ("cookie", c.as_str())).collect();
        let streams: &[_] = match path {
            "/events" => &[("content-type", "text/event-stream")],
            _ => &[],
        };
        self.site.app.says(200, streams);
        let seen = self.site.send(ask("GET", path, &headers));
        let Some(token) = seen.cookie() else { return };
        let pin = self.site.open(&token);
        let group = pin.group.known().expect("a group of this rollout");
        self.issued.push((group.name().clone(), pin.expires));
        match client {
            Some(nth) => self.cookies[nth] = token,
            None => self.cookies.push(token),
        }
    }

    fn is_drained(&self, group: &str, now: Timestamp) -> bool {
        let rollout = self.site.rollouts.current();
        let last = self.expiries.latest(&id(group));
        let after =
            rollout.drained_after(&name(group), last, Duration::from_secs(TA), Duration::ZERO);
        after.is_some_and(|after| now > after)
    }

    fn latest(&self, group: &str) -> Option<Timestamp> {
        let issued = self.issued.iter().filter(|(of, _)| *of == name(group));
        issued.map(|(_, expires)| *expires).max()
    }

    fn check(&self) {
        let now = self.site.clock.now();
        for group in ["A", "B"] {
            if self.is_drained(group, now)
                && let Some(latest) = self.latest(group)
            {
                assert!(
                    latest <= now,
                    "{group} is drained, and a pin lives to {latest}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn c103_drained_is_never_early_and_comes_with_the_last_pin(
        events in prop::collection::vec(any_event(), 0..60)
    ) {
        let mut world = World::new();
        for event in &events {
            world.happen(event);
        }
        let now = world.site.clock.now();
        for group in ["A", "B"] {
            let rollout = world.site.rollouts.current();
            let State::Draining { since } = *rollout.group(&name(group)).unwrap().state() else {
                continue;
            };
            let last = world.latest(group).map_or(since, |latest| latest.max(since)).max(now);
            prop_assert!(world.is_drained(group, last.plus(Duration::from_secs(1))));
        }
    }
}
