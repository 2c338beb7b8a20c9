//! What is counted of a hundred thousand requests and their sessions adds up.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use affinity_gateway::Gateway;
use affinity_tests::bare::{BareAnswer, BareClient, BareEndpoint};
use affinity_tests::config::Config;
use affinity_tests::replica::Replica;
use affinity_tests::samples::Samples;
use affinity_tests::{Scratch, until};
use serde_json::json;
use tokio::task::JoinSet;
use tower_affinity::core::Timestamp;
use tower_affinity_testing::{HandClock, START};

const GROUPS: [&str; 3] = ["9f1c2ab", "c3d4e5f", "a0a0a0a"];
/// The one whose sessions move.
const ABORTED: &str = GROUPS[2];

/// Half of the sessions that are left go on in each part; a quarter ends in each of two.
const SESSIONS: usize = 10_000;
const PARTS: [usize; 3] = [4, 6, 10];
const CONNECTIONS: usize = 32;
/// Requests that no endpoint gets.
const REFUSED: usize = 100;

/// What a client knows of its session.
#[derive(Clone, Debug, Default)]
struct Session {
    cookie: Option<String>,
    /// Where it was served, without repetitions.
    path: Vec<String>,
    ended: bool,
}

impl Session {
    async fn ask(&mut self, client: &mut BareClient, path: &str) {
        let answer = client.ask("GET", path, self.cookie.as_deref()).await;
        assert_eq!(answer.status(), 204, "{answer:?}");
        let group = answer.group().expect("an endpoint answered").to_owned();
        if self.path.last() != Some(&group) {
            self.path.push(group);
        }
        self.take(&answer);
    }

    fn take(&mut self, answer: &BareAnswer) {
        if let Some(cookie) = answer.cookie() {
            self.ended = cookie.ends_with('=');
            self.cookie = Some(cookie.to_owned());
        }
    }
}

/// Each session sends so many requests; those that `end` says so with the last.
async fn play(
    address: SocketAddr,
    sessions: Vec<Session>,
    requests: usize,
    ends: fn(usize) -> bool,
) -> Vec<Session> {
    let share = sessions.len().div_ceil(CONNECTIONS);
    let mut tasks = JoinSet::new();
    for (nth, part) in sessions.chunks(share).enumerate() {
        let mut part = part.to_vec();
        tasks.spawn(async move {
            let mut client = BareClient::connect(address).await;
            for (at, session) in part.iter_mut().enumerate() {
                for _ in 1..requests {
                    session.ask(&mut client, "/").await;
                }
                let last = if ends(nth * share + at) { "/end" } else { "/" };
                session.ask(&mut client, last).await;
                assert_eq!(session.ended, last == "/end", "{session:?}");
            }
            part
        });
    }
    tasks.join_all().await.into_iter().flatten().collect()
}

/// The sessions that are neither ended nor in the first half: the others are not seen again.
fn half(sessions: &mut [Session]) -> Vec<Session> {
    let left: Vec<_> = sessions.iter_mut().filter(|s| !s.ended).collect();
    let stay = left.len() / 2;
    left.into_iter().skip(stay).map(std::mem::take).collect()
}

#[derive(Clone, Copy, Debug, Default)]
struct Truth {
    assigned: u64,
    arrived: u64,
    left: u64,
    ended: u64,
    expired: u64,
    live: u64,
}

fn truth(gone: &[Session], live: &[Session]) -> BTreeMap<String, Truth> {
    let mut groups = BTreeMap::<String, Truth>::new();
    let gone = gone.iter().map(|session| (session, false));
    let live = live.iter().map(|session| (session, true));
    for (session, is_live) in gone
        .chain(live)
        .filter(|(session, _)| !session.path.is_empty())
    {
        for (nth, group) in session.path.iter().enumerate() {
            let truth = groups.entry(group.clone()).or_default();
            truth.assigned += u64::from(nth == 0);
            truth.arrived += u64::from(nth > 0);
            truth.left += u64::from(nth + 1 < session.path.len());
        }
        let last = session.path.last().expect("it was served");
        let truth = groups.entry(last.clone()).or_default();
        truth.ended += u64::from(session.ended);
        truth.live += u64::from(is_live && !session.ended);
        truth.expired += u64::from(!is_live && !session.ended);
    }
    groups
}

/// Waits until the gateway has counted what it has answered.
async fn counted(replica: &Replica, sent: usize) -> Samples {
    until("all requests are counted", async || {
        let samples = replica.admin.samples().await;
        let all = samples.sum("affinity_requests_total", &[]);
        assert!(all <= sent as f64, "{all} were counted of {sent}");
        (all >= sent as f64).then_some(samples)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_and_sessions_add_up_over_a_hundred_thousand_requests() {
    let mut endpoints = Vec::new();
    for group in GROUPS {
        endpoints.push(BareEndpoint::start(group).await);
    }
    let places = GROUPS.iter().zip(&endpoints);
    let groups = places.map(|(group, endpoint)| (*group, 1, vec![endpoint.address()]));
    let dir = Scratch::new();
    let clock = HandClock::at(Timestamp::from_secs(START));
    let start = async |settings| Gateway::start_with_clock(settings, Arc::new(clock.clone())).await;
    let replica = Replica::started(&dir, &Config::of(groups), "gateway.toml", start).await;
    let address = replica.address();

    // 20 of the 30 minutes of the idle lifetime between the parts: who was not in the second has
    // expired by the third
    let mut first = play(
        address,
        vec![Session::default(); SESSIONS],
        PARTS[0],
        |nth| nth % 4 == 0,
    )
    .await;
    clock.advance(Duration::from_secs(20 * 60));
    let going = half(&mut first);
    let mut sent = SESSIONS * PARTS[0] + going.len() * PARTS[1];
    let second = play(address, going, PARTS[1], |_| false).await;
    replica
        .admin
        .verb(ABORTED, "abort", &json!({}))
        .await
        .accepted();
    clock.advance(Duration::from_secs(20 * 60));
    sent += second.len() * PARTS[2];
    let third = play(address, second, PARTS[2], |nth| nth % 3 == 0).await;
    let mut client = BareClient::connect(address).await;
    for _ in 0..REFUSED {
        // a path of ours, answered before any decision
        let path = "/.well-known/affinity/override?token=x";
        let answer = client.ask("GET", path, None).await;
        assert_eq!((answer.status(), answer.group()), (400, None), "{answer:?}");
    }
    sent += REFUSED;
    assert_eq!(sent, 100_000 + REFUSED);

    let samples = counted(&replica, sent).await;
    let kinds = samples.values("affinity_requests_total", "decision");
    let by_decision = kinds.iter().map(|kind| {
        let label = [("decision", *kind)];
        samples.sum("affinity_requests_total", &label)
    });
    assert!(
        (by_decision.sum::<f64>() - sent as f64).abs() < 0.5,
        "{kinds:?}"
    );
    let answered: u64 = endpoints.iter().map(BareEndpoint::seen).sum();
    assert_eq!(
        answered as usize + REFUSED,
        sent,
        "endpoints and we have answered all"
    );

    for (group, truth) in truth(&first, &third) {
        let count = |name: &str, label: &str| samples.sum(name, &[(label, &group)]);
        let same = |what: &str, count: f64, truth: u64| {
            assert!(
                (count - truth as f64).abs() < 0.5,
                "{group}: {count} {what} of {truth}"
            );
        };
        let moved = "affinity_sessions_moved_total";
        let (arrived, left) = (count(moved, "to"), count(moved, "from"));
        let assigned = count("affinity_sessions_assigned_total", "group");
        let ended = count("affinity_sessions_ended_total", "group");
        let live = count("affinity_sessions_live", "group");
        same("assigned", assigned, truth.assigned);
        same("moved here", arrived, truth.arrived);
        same("moved away", left, truth.left);
        same("ended", ended, truth.ended);
        let expected = assigned + arrived - left - ended - truth.expired as f64;
        same("live by the other counts", expected, truth.live);
        let error = (live - expected).abs();
        assert!(
            error <= expected * 0.05 + 0.5,
            "{group}: {live} live, {expected} expected"
        );
        if group == ABORTED {
            assert!(truth.left > 300 && truth.live == 0, "{truth:?}");
        } else {
            assert!(truth.live > 700 && truth.ended > 900, "{truth:?}");
        }
    }
}
