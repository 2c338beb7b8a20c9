//! What a gateway knows after a restart, and how it ends.

use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::{Process, run};
use affinity_tests::raw::Raw;
use affinity_tests::replica::Replica;
use affinity_tests::{Scratch, until};
use serde_json::json;
use tokio::net::TcpStream;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

#[tokio::test]
async fn a_restart_keeps_weights_aborts_and_sessions() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let config = Config::new(&fleet, &[(OLD, 0), (NEW, 1)]);
    let file = config.write(&dir, "gateway.toml");
    let (history, process) = (History::default(), Process::start(&file).await);
    let (mut client, mut moved) = (Client::new(0, &history), Client::new(1, &history));
    moved.get(process.address(), "/").await;
    assert_eq!(moved.get(process.address(), "/").await.group(), Some(NEW));
    process
        .admin()
        .verb(NEW, "abort", &json!({}))
        .await
        .accepted();
    process
        .admin()
        .weights(&json!({ OLD: 42 }))
        .await
        .accepted();
    assert_eq!(client.get(process.address(), "/").await.group(), Some(OLD));
    let (before, pin) = (
        process.admin().rollout().await,
        client.jar.value(COOKIE).map(str::to_owned),
    );
    process.terminate().await;
    let (code, log) = process.end().await;
    assert_eq!(code, 0, "{log}");

    let process = Process::start(&file).await;
    let after = process.admin().rollout().await;
    assert_eq!(
        json!(process.revision()),
        before["revision"],
        "the ready line tells it"
    );
    for key in ["revision", "stable", "step_revision", "draw_revision"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    assert_eq!(
        process.admin().group(OLD).await["weight"],
        42,
        "the file overrode a verb"
    );
    assert_eq!(
        process.admin().group(NEW).await["state"],
        "aborted",
        "the abort is forgotten"
    );
    assert_eq!(client.get(process.address(), "/").await.group(), Some(OLD));
    assert_eq!(
        client.jar.value(COOKIE).map(str::to_owned),
        pin,
        "its pin was written anew"
    );
    let answer = moved.get(process.address(), "/").await;
    assert_eq!(
        fleet.ledger().of(answer.request).decision(),
        "moved; cause=aborted"
    );
    history.balances(fleet.ledger());
}

#[tokio::test]
async fn an_edit_between_two_runs_is_one_change_at_the_start() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 90), (NEW, 10)]);
    let process = Process::start(&config.write(&dir, "gateway.toml")).await;
    let revision = process
        .admin()
        .weights(&json!({ OLD: 70 }))
        .await
        .revision();
    process.terminate().await;
    process.end().await;
    config.group(NEW).weight = 30;
    let process = Process::start(&config.write(&dir, "gateway.toml")).await;
    assert_eq!(process.revision(), revision + 1);
    let weight = async |group| process.admin().group(group).await["weight"].clone();
    assert_eq!(
        (weight(OLD).await, weight(NEW).await),
        (json!(70), json!(30))
    );
}

#[tokio::test]
async fn a_damaged_state_file_refuses_the_start_and_says_what_to_do() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let file = Config::new(&fleet, &[(OLD, 1)]).write(&dir, "gateway.toml");
    let process = Process::start(&file).await;
    process.terminate().await;
    process.end().await;
    let state = dir.path().join("gateway-state.json");
    let good = std::fs::read_to_string(&state).unwrap();
    let args = ["run", "--config", file.to_str().unwrap()];
    let mut bad = vec![
        String::new(),
        "{}".to_owned(),
        good.replacen(OLD, "9f1c2ac", 1),
    ];
    bad.extend((1..6).map(|part| good[..good.len() * part / 6].to_owned()));
    for text in bad {
        assert_ne!(text, good);
        dir.write("gateway-state.json", &text);
        let ended = run(&args, &[]).await;
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (1, ""),
            "{}",
            ended.stderr
        );
        let told = ended.stderr.contains("gateway-state.json") && ended.stderr.contains("damaged");
        assert!(told && ended.stderr.contains("backup"), "{}", ended.stderr);
        assert_eq!(
            std::fs::read_to_string(&state).unwrap(),
            text,
            "it was overwritten"
        );
    }
    dir.write("gateway-state.json", &good);
    assert_eq!(
        Process::start(&file).await.admin().rollout().await["stable"],
        OLD
    );
}

#[tokio::test]
async fn sigterm_finishes_what_is_in_flight_and_takes_no_more() {
    let fleet = Fleet::start(&[OLD], 2).await;
    let dir = Scratch::new();
    let file = Config::new(&fleet, &[(OLD, 1)]).write(&dir, "gateway.toml");
    let process = Process::start(&file).await;
    let (history, address) = (History::default(), process.address());
    let mut client = Client::new(0, &history);
    let held = tokio::spawn(async move { client.get(address, "/hold").await });
    fleet.ledger().arrival("/hold").await;
    let mut stream = Raw::connect(address).await;
    stream
        .write("GET /early HTTP/1.1\r\nhost: a\r\nx-request-id: 0\r\n\r\n")
        .await;
    stream.read_to("first,").await;
    process.terminate().await;
    until("a closed listener", async || {
        TcpStream::connect(address).await.err()
    })
    .await;
    fleet.release();
    assert_eq!(held.await.expect("it is answered").group(), Some(OLD));
    stream.read_to("last").await;
    let (code, log) = process.end().await;
    assert_eq!(code, 0, "{log}");
}

#[tokio::test]
async fn a_dropped_gateway_takes_no_more_and_finishes_what_is_in_flight() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1)])).await;
    let (address, admin) = (replica.address(), replica.admin.address());
    let mut held = Raw::connect(address).await;
    held.write("GET /hold HTTP/1.1\r\nhost: a\r\n\r\n").await;
    fleet.ledger().arrival("/hold").await;
    drop(replica);
    for at in [address, admin] {
        until("a closed listener", async || {
            TcpStream::connect(at).await.err()
        })
        .await;
    }
    fleet.release();
    let answer = held.read_all().await;
    assert!(answer.contains(&format!("x-group: {OLD}")), "{answer:?}");
}
