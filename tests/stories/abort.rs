//! An abort under load, at one gateway.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::jar::claims;
use affinity_tests::replica::Replica;
use affinity_tests::{LOAD_BOUND, Scratch, until_within};
use http::StatusCode;
use serde_json::json;
use tokio::task::JoinSet;

const STABLE: &str = "9f1c2ab";
const BAD: &str = "c3d4e5f";
const OTHER: &str = "0a1b2c3";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abort_under_load_moves_each_session_once_and_is_seen_at_once() {
    let fleet = Fleet::start(&[STABLE, BAD, OTHER], 3).await;
    let dir = Scratch::new();
    let weights = [(STABLE, 40), (BAD, 40), (OTHER, 20)];
    let replica = Replica::start(&dir, &Config::new(&fleet, &weights)).await;
    let (history, address) = (History::default(), replica.address());

    let stop = Arc::new(AtomicBool::new(false));
    let mut workers = JoinSet::new();
    for number in 0..60 {
        let (mut client, stop) = (Client::new(number, &history), Arc::clone(&stop));
        workers.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                client.get(address, "/step").await;
            }
        });
    }
    let ledger = fleet.ledger();
    until_within(LOAD_BOUND, "a session's load", async || {
        (ledger.len() >= 1_500).then_some(())
    })
    .await;
    let told = replica.admin.verb(BAD, "abort", &json!({})).await;
    let known = history.moment();
    assert_eq!(told.json()["rollout"]["stable"], STABLE);
    until_within(LOAD_BOUND, "as much again", async || {
        (ledger.len() >= 4_000).then_some(())
    })
    .await;
    stop.store(true, Ordering::Relaxed);
    while let Some(worker) = workers.join_next().await {
        worker.expect("a worker finishes");
    }

    let mut moved = 0;
    for (client, entries) in history.by_client() {
        let late = entries
            .iter()
            .find(|e| e.sent > known && e.group.as_deref() == Some(BAD));
        assert!(
            late.is_none(),
            "client {client} reached the aborted group: {late:?}"
        );
        let groups: Vec<_> = entries
            .iter()
            .map(|e| e.group.clone().expect("no refusal"))
            .collect();
        let mut path = groups.clone();
        path.dedup();
        match path.first().map(String::as_str) {
            Some(BAD) => {
                assert_eq!(
                    path,
                    [BAD, STABLE],
                    "client {client} did not move once, to the target"
                );
                moved += 1;
            }
            _ => assert_eq!(
                path.len(),
                1,
                "client {client} moved and need not: {path:?}"
            ),
        }
    }
    assert!(
        moved >= 5,
        "only {moved} sessions of the aborted group; the story shows nothing"
    );
    let samples = replica.admin.samples().await;
    let edge = [("from", BAD), ("to", STABLE), ("cause", "aborted")];
    assert_eq!(samples.sum("affinity_moves_total", &edge), f64::from(moved));
    assert_eq!(samples.sum("affinity_moves_total", &[]), f64::from(moved));
    history.balances(ledger);
}

#[tokio::test]
async fn the_application_is_told_of_a_move_until_it_has_seen_it() {
    let fleet = Fleet::start(&[STABLE, BAD], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(STABLE, 0), (BAD, 1)])).await;
    let (history, address) = (History::default(), replica.address());
    let mut client = Client::new(0, &history);
    assert_eq!(client.get(address, "/").await.group(), Some(BAD));
    replica
        .admin
        .verb(BAD, "abort", &json!({}))
        .await
        .accepted();

    let moving = client.get(address, "/").await;
    let execution = fleet.ledger().of(moving.request);
    assert_eq!(
        (moving.group(), execution.decision()),
        (Some(STABLE), "moved; cause=aborted")
    );
    for _ in 0..2 {
        let later = client.get(address, "/").await;
        let execution = fleet.ledger().of(later.request);
        assert_eq!(execution.decision(), "pinned; cause=ok");
        let from = execution
            .field("affinity-moved-from")
            .expect("it still does not know");
        let from = String::from_utf8(from.to_vec()).unwrap();
        assert!(from.starts_with(&format!("{BAD}; at=")), "{from}");
        assert!(from.ends_with("; cause=aborted"), "{from}");
    }
    let seen = http::Request::get("/")
        .header("x-answer", "affinity-session: moved-seen")
        .body(http_body_util::Full::default())
        .unwrap();
    let answer = client.send(address, seen).await;
    assert!(
        !answer.headers.contains_key("affinity-session"),
        "{:?}",
        answer.headers
    );
    let quiet = client.get(address, "/").await;
    assert_eq!(
        fleet
            .ledger()
            .of(quiet.request)
            .field("affinity-moved-from"),
        None
    );
    let pin = claims(client.jar.value(COOKIE).expect("it has a pin"));
    assert_eq!(pin["mv"], 1, "{pin}");
}

#[tokio::test]
async fn a_slow_answer_of_an_aborted_group_does_not_put_it_back() {
    let fleet = Fleet::start(&[STABLE, BAD], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(STABLE, 0), (BAD, 1)]);
    // every answer renews the pin
    config.sections = "[[scope]]\npath = \"/*\"\nstreaming = true\n".to_owned();
    let replica = Replica::start(&dir, &config).await;
    let (history, address) = (History::default(), replica.address());
    let mut client = Client::new(0, &history);
    client.get(address, "/").await;
    let mut tab = client.tab();
    let slow = tokio::spawn(async move { tab.get(address, "/hold").await });
    fleet.ledger().arrival("/hold").await;
    replica
        .admin
        .verb(BAD, "abort", &json!({}))
        .await
        .accepted();
    assert_eq!(client.get(address, "/").await.group(), Some(STABLE));
    fleet.release();
    let late = slow.await.expect("the slow request is answered");
    assert_eq!((late.status, late.group()), (StatusCode::OK, Some(BAD)));
    assert_eq!(
        late.cookies(),
        Vec::<String>::new(),
        "a late answer wrote an aborted group's pin"
    );
    assert_eq!(client.get(address, "/").await.group(), Some(STABLE));
    history.balances(fleet.ledger());
}
