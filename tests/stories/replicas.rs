//! Two gateways with the same keys, each with its own state: one learns of the abort later.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::endpoint::Execution;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::{Entry, History};
use affinity_tests::jar::Keeps;
use affinity_tests::replica::Replica;
use affinity_tests::{LOAD_BOUND, Scratch, until_within};
use http::Request;
use http_body_util::Full;
use serde_json::json;
use tokio::task::JoinSet;

const STABLE: &str = "9f1c2ab";
const BAD: &str = "c3d4e5f";
const OTHER: &str = "0a1b2c3";

/// What a run leaves behind.
struct Run {
    history: History,
    executions: BTreeMap<u64, Execution>,
    first: SocketAddr,
    second: SocketAddr,
    /// From these moments on they know of the abort.
    first_knows: u64,
    second_knows: u64,
}

impl Run {
    fn execution(&self, entry: &Entry) -> &Execution {
        self.executions
            .get(&entry.request)
            .unwrap_or_else(|| panic!("never executed: {entry:?}"))
    }

    fn session(&self, entry: &Entry) -> String {
        let session = self.execution(entry).field("affinity-session");
        String::from_utf8_lossy(session.expect("it has a session")).into_owned()
    }

    fn moved(&self, entry: &Entry) -> bool {
        self.execution(entry).decision().starts_with("moved")
    }
}

/// Clients send every request to both gateways at once and take the pins as they come back.
async fn abort_at_one_then_at_the_other(keeps: Keeps) -> Run {
    let fleet = Fleet::start(&[STABLE, BAD, OTHER], 2).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(STABLE, 30), (BAD, 50), (OTHER, 20)]);
    let one = Replica::named(&dir, &config, "one.toml").await;
    config.state = "other-state.json".to_owned();
    let two = Replica::named(&dir, &config, "two.toml").await;
    let (first, second) = (one.address(), two.address());

    let history = History::default();
    let stop = Arc::new(AtomicBool::new(false));
    let mut workers = JoinSet::new();
    for number in 0..40 {
        let (mut client, stop) = (Client::keeping(keeps, number, &history), Arc::clone(&stop));
        let mut tab = client.tab();
        workers.spawn(async move {
            let step = || Request::get("/step").body(Full::default()).expect("a path");
            let mut first_pin: Option<String> = None;
            for turn in 0.. {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                // an answer that was long on its way
                if let Some(line) = first_pin.as_ref().filter(|_| turn % 4 == number % 4) {
                    client.jar.take(line);
                    client.send(second, step()).await;
                }
                // alternating alone, then both at once
                for at in [first, second] {
                    let answer = client.send(at, step()).await;
                    first_pin = first_pin.or_else(|| answer.cookies().pop());
                }
                tab.jar = client.jar.clone();
                let (here, there) =
                    tokio::join!(client.exchange(first, step()), tab.exchange(second, step()));
                let mut answers = [here.expect("an answer"), there.expect("an answer")];
                answers.sort_by_key(|answer| answer.request % 3);
                for line in answers.iter().flat_map(|answer| answer.cookies()) {
                    client.jar.take(&line);
                }
            }
        });
    }
    let ledger = fleet.ledger();
    let more = async |count: usize| {
        let goal = ledger.len() + count;
        until_within(LOAD_BOUND, "more requests", async || {
            (ledger.len() >= goal).then_some(())
        })
        .await;
    };
    more(2_000).await;
    let aborted = one.admin.verb(BAD, "abort", &json!({})).await.revision();
    let first_knows = history.moment();
    more(2_500).await;
    assert!(
        two.admin.rollout().await["revision"].as_u64().unwrap() >= aborted,
        "pins raise it"
    );
    assert_eq!(
        two.admin.group(BAD).await["state"],
        "active",
        "nobody told the second yet"
    );
    two.admin.verb(BAD, "abort", &json!({})).await.accepted();
    let second_knows = history.moment();
    more(2_000).await;
    stop.store(true, Ordering::Relaxed);
    while let Some(worker) = workers.join_next().await {
        worker.expect("a worker finishes");
    }
    history.balances(ledger);
    let executions = ledger
        .entries()
        .into_iter()
        .map(|e| (e.request, e))
        .collect();
    Run {
        history,
        executions,
        first,
        second,
        first_knows,
        second_knows,
    }
}

/// What holds for every client, whatever its jar does.
fn assert_obeyed(run: &Run) {
    let mut moves = 0;
    for entry in run.history.entries() {
        assert_eq!(entry.status, 200, "{entry:?}");
        let knows = match entry.via {
            via if via == run.first => run.first_knows,
            via if via == run.second => run.second_knows,
            via => panic!("nobody is at {via}"),
        };
        let bad = entry.group.as_deref() == Some(BAD);
        assert!(
            !(bad && entry.sent > knows),
            "served by the aborted group: {entry:?}"
        );
        if run.moved(&entry) {
            moves += 1;
            let execution = run.execution(&entry);
            let from = execution
                .field("affinity-moved-from")
                .expect("a move tells whence");
            assert!(
                from.starts_with(BAD.as_bytes()),
                "moved from elsewhere: {execution:?}"
            );
            assert_eq!(
                &*execution.group, STABLE,
                "moved to elsewhere: {execution:?}"
            );
        }
    }
    assert!(moves >= 5, "only {moves} moves; the story shows nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_keeps_its_newest_pin_moves_once_over_two_gateways() {
    let run = abort_at_one_then_at_the_other(Keeps::NewestPin).await;
    assert_obeyed(&run);
    for (client, entries) in run.history.by_client() {
        // a session holds its moved pin from the first moved answer on
        let mut holds: BTreeMap<String, u64> = BTreeMap::new();
        for entry in entries.iter().filter(|entry| run.moved(entry)) {
            let held = holds.entry(run.session(entry)).or_insert(entry.answered);
            assert!(entry.sent < *held, "client {client} moved again: {entry:?}");
            *held = entry.answered.min(*held);
        }
        for entry in &entries {
            let back = entry.group.as_deref() == Some(BAD);
            let held = holds.get(&run.session(entry));
            assert!(
                !(back && held.is_some_and(|held| entry.sent > *held)),
                "back: {entry:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_jar_in_which_the_last_answer_wins_never_leads_back() {
    let run = abort_at_one_then_at_the_other(Keeps::LastArrival).await;
    assert_obeyed(&run);
    // reached, or the story shows nothing: an old pin came back to a gateway that does not know
    // of the abort, and to one that does
    let entries = run.history.entries();
    let behind = entries.iter().filter(|entry| {
        let late = entry.via == run.second && entry.sent > run.first_knows;
        late && entry.group.as_deref() == Some(BAD)
    });
    assert!(behind.count() > 0, "no old pin came back in time");
    let mut moves: BTreeMap<String, u32> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| run.moved(entry)) {
        *moves.entry(run.session(entry)).or_default() += 1;
    }
    assert!(
        moves.values().any(|times| *times > 1),
        "no old pin came back after a move"
    );
}

#[tokio::test]
async fn a_group_that_the_other_gateway_does_not_know_moves_its_session_once() {
    let fleet = Fleet::start(&[STABLE, OTHER], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(STABLE, 1)]);
    let one = Replica::named(&dir, &config, "one.toml").await;
    config.state = "other-state.json".to_owned();
    let two = Replica::named(&dir, &config, "two.toml").await;
    let endpoints = fleet.addresses(OTHER);
    let register = json!({ "name": OTHER, "endpoints": endpoints, "weight": 1 });
    one.admin.post("/v1/groups", &register).await.accepted();
    one.admin.weights(&json!({ STABLE: 0 })).await.accepted();
    // above the second gateway's revision, whichever of them began later
    let ahead = two.admin.rollout().await["revision"].as_u64().unwrap();
    for weight in 2.. {
        let revision = one
            .admin
            .weights(&json!({ OTHER: weight }))
            .await
            .revision();
        if revision > ahead {
            break;
        }
    }
    let history = History::default();
    let mut client = Client::new(0, &history);
    let mut decision = async |to: SocketAddr| {
        let answer = client.get(to, "/").await;
        let execution = fleet.ledger().of(answer.request);
        (execution.group.to_string(), execution.decision().to_owned())
    };
    let told = |group: &str, decision: &str| (group.to_owned(), decision.to_owned());
    assert_eq!(
        decision(one.address()).await,
        told(OTHER, "assigned; cause=new")
    );
    assert_eq!(
        decision(two.address()).await,
        told(STABLE, "moved; cause=gone")
    );
    for to in [&one, &two, &one] {
        assert_eq!(decision(to.address()).await.0, STABLE, "it went back");
    }
    history.balances(fleet.ledger());
}
