#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;
use tower_affinity::balance::{EndpointState, Groups, Source};
use tower_affinity::core::GroupName;

use super::schedule::follow;
use crate::config::Health;
use crate::jitter::around;

const INTERVAL: Duration = Duration::from_secs(2);

fn health(jitter_percent: u32) -> Health {
    Health {
        path: "/livez".to_owned(),
        interval: INTERVAL,
        timeout: Duration::from_secs(1),
        jitter_percent,
        unhealthy_after: 2,
        healthy_after: 3,
    }
}

/// Endpoints that note when they are asked.
#[derive(Clone)]
struct Stage {
    groups: Groups,
    group: GroupName,
    asked: Arc<Mutex<BTreeMap<SocketAddr, Vec<Instant>>>>,
    sick: Arc<Mutex<HashSet<SocketAddr>>>,
    /// Whether there is no descriptor left to ask with.
    short: Arc<AtomicBool>,
}

impl Stage {
    fn of(ports: &[u16]) -> Self {
        let stage = Self {
            groups: Groups::default(),
            group: "aaa".parse().unwrap(),
            asked: Arc::default(),
            sick: Arc::default(),
            short: Arc::default(),
        };
        stage.groups.expect_checks(true);
        stage.list(ports);
        stage
    }

    fn list(&self, ports: &[u16]) {
        self.groups
            .update(&self.group, ports.iter().copied().map(at));
    }

    fn begin(&self, health: Health) -> AbortOnDropHandle<()> {
        let stage = self.clone();
        let ask = move |_, address| {
            let stage = stage.clone();
            async move {
                let mut asked = stage.asked.lock().unwrap();
                asked.entry(address).or_default().push(Instant::now());
                let short = stage.short.load(Ordering::Relaxed);
                (!short).then(|| !stage.sick.lock().unwrap().contains(&address))
            }
        };
        AbortOnDropHandle::new(tokio::spawn(follow(self.groups.clone(), health, ask)))
    }

    fn asked(&self, port: u16) -> Vec<Instant> {
        let asked = self.asked.lock().unwrap();
        asked.get(&at(port)).cloned().unwrap_or_default()
    }

    fn state(&self, port: u16) -> EndpointState {
        let endpoints = self.groups.endpoints(&self.group);
        let endpoint = endpoints.iter().find(|e| e.address() == at(port));
        endpoint.expect("it is listed").reported(Source::Health)
    }
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

#[tokio::test(start_paused = true)]
async fn each_endpoint_is_asked_at_once_and_then_near_the_interval() {
    let stage = Stage::of(&[7001, 7002]);
    assert_eq!(stage.state(7001), EndpointState::Starting);
    let began = Instant::now();
    let _checks = stage.begin(health(20));
    sleep(INTERVAL * 50).await;
    let (one, other) = (stage.asked(7001), stage.asked(7002));
    for times in [&one, &other] {
        assert!(times[0] - began < Duration::from_millis(10), "not at once");
        assert!((40..=64).contains(&times.len()), "{} checks", times.len());
        for pair in times.windows(2) {
            let wait = (pair[1] - pair[0]).as_secs_f64() / INTERVAL.as_secs_f64();
            assert!((0.79..=1.21).contains(&wait), "{wait} intervals between");
        }
    }
    let together = one[1..].iter().filter(|time| other[1..].contains(time));
    assert!(together.count() < 10, "they are asked in lock-step");
}

#[tokio::test(start_paused = true)]
async fn without_jitter_the_interval_is_exact() {
    assert_eq!(around(INTERVAL, 0), INTERVAL);
    let stage = Stage::of(&[7001]);
    let _checks = stage.begin(health(0));
    sleep(INTERVAL * 3 + INTERVAL / 2).await;
    let times = stage.asked(7001);
    assert_eq!(times.len(), 4);
    // the timer counts in milliseconds
    let off = (times[3] - times[0]).abs_diff(INTERVAL * 3);
    assert!(off < Duration::from_millis(10), "off by {off:?}");
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_comes_is_asked_at_once_and_one_that_leaves_no_more() {
    let stage = Stage::of(&[7001, 7002]);
    let _checks = stage.begin(health(0));
    sleep(INTERVAL / 4).await;
    stage.sick.lock().unwrap().insert(at(7003));
    stage.list(&[7002, 7003]);
    assert_eq!(stage.state(7003), EndpointState::Starting);
    sleep(Duration::from_millis(150)).await;
    assert_eq!(stage.asked(7003).len(), 1, "it had to wait");
    assert_eq!(
        stage.state(7003),
        EndpointState::Unhealthy,
        "the first answer counts at once"
    );
    sleep(INTERVAL * 5).await;
    assert_eq!(stage.asked(7001).len(), 1, "it was asked after it had left");
    assert!(stage.asked(7002).len() > 4, "the one that stayed");
}

#[tokio::test(start_paused = true)]
async fn later_answers_count_once_there_are_enough_of_them() {
    let stage = Stage::of(&[7001]);
    let _checks = stage.begin(health(0));
    let rounds = async |count: u32| sleep(INTERVAL * count).await;
    sleep(INTERVAL / 2).await;
    assert_eq!(stage.state(7001), EndpointState::Ready);
    stage.sick.lock().unwrap().insert(at(7001));
    rounds(1).await;
    assert_eq!(stage.state(7001), EndpointState::Ready, "one failure");
    rounds(1).await;
    assert_eq!(stage.state(7001), EndpointState::Unhealthy, "two failures");
    stage.sick.lock().unwrap().clear();
    rounds(2).await;
    assert_eq!(stage.state(7001), EndpointState::Unhealthy, "two successes");
    rounds(1).await;
    assert_eq!(stage.state(7001), EndpointState::Ready, "three successes");
}

#[tokio::test(start_paused = true)]
async fn new_settings_do_not_forget_what_was_known() {
    let stage = Stage::of(&[7001]);
    let checks = stage.begin(health(0));
    sleep(INTERVAL / 2).await;
    drop(checks);
    stage.sick.lock().unwrap().insert(at(7001));
    let _checks = stage.begin(health(0));
    sleep(INTERVAL / 2).await;
    assert_eq!(
        stage.state(7001),
        EndpointState::Ready,
        "one failure took it out"
    );
}

/// Who fills our table of descriptors must not have every endpoint taken out by it.
#[tokio::test(start_paused = true)]
async fn an_endpoint_that_could_not_be_asked_stays_what_it_was() {
    let stage = Stage::of(&[7001, 7002]);
    stage.sick.lock().unwrap().insert(at(7002));
    let _checks = stage.begin(health(0));
    sleep(INTERVAL / 2).await;
    stage.short.store(true, Ordering::Relaxed);
    sleep(INTERVAL * 10).await;
    assert!(stage.asked(7001).len() > 10, "it is asked no more");
    assert_eq!(stage.state(7001), EndpointState::Ready);
    assert_eq!(stage.state(7002), EndpointState::Unhealthy);
    stage.list(&[7001, 7002, 7003]);
    sleep(INTERVAL).await;
    assert_eq!(
        stage.state(7003),
        EndpointState::Starting,
        "nothing is known"
    );
    stage.short.store(false, Ordering::Relaxed);
    sleep(INTERVAL * 2).await;
    assert_eq!(stage.state(7003), EndpointState::Ready);
}
