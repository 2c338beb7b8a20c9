//! How a gateway ends under load: nobody's request is lost by it (F27, F29).

use std::net::SocketAddr;
use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::Process;
use affinity_tests::raw::Raw;
use affinity_tests::steady::{Mix, Steady};
use affinity_tests::{Scratch, until};
use http::StatusCode;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

/// As a balancer that asks twenty times a second, sends new connections to `first` while it is
/// ready, else to `second`.
fn balance(first: &Process, second: &Process) -> watch::Receiver<SocketAddr> {
    let (sender, route) = watch::channel(first.address());
    let (admin, second) = (first.admin().clone(), second.address());
    tokio::spawn(async move {
        while admin.get("/readyz").await.status == StatusCode::OK {
            sleep(Duration::from_millis(50)).await;
        }
        sender.send_replace(second);
        // the clients that are left read what was said last
        sender.closed().await;
    });
    route
}

async fn pair(fleet: &Fleet, dir: &Scratch, listen: &str) -> (Process, Process) {
    let mut config = Config::new(fleet, &[(OLD, 1), (NEW, 1)]);
    config.listen = listen.to_owned();
    let first = Process::start(&config.write(dir, "first.toml")).await;
    config.state = "second.json".to_owned();
    let second = Process::start(&config.write(dir, "second.toml")).await;
    (first, second)
}

const MIX: Mix = Mix {
    kept: 24,
    fresh: 8,
    multiplexed: 8,
    every: Duration::from_millis(50),
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f27_sigterm_under_load_loses_no_request() {
    let fleet = Fleet::start(&[OLD, NEW], 2).await;
    let dir = Scratch::new();
    let (first, second) = pair(&fleet, &dir, "drain_delay = \"1s\"\ndrain = \"15s\"\n").await;
    let route = balance(&first, &second);
    let history = History::default();
    let load = Steady::start(&history, &route, MIX);
    sleep(Duration::from_secs(1)).await;
    let (address, begun) = (first.address(), Instant::now());
    first.terminate().await;
    let (code, log) = first.end().await;
    assert_eq!(code, 0, "{log}");
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "it took {:?}",
        begun.elapsed()
    );
    assert!(log.contains("connections: 0, tunnels: 0"), "{log}");
    assert!(
        TcpStream::connect(address).await.is_err(),
        "it still listens"
    );
    sleep(Duration::from_millis(300)).await;
    let failures = load.end().await;
    println!("{} requests, {} failed", history.len(), failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let by = |at: SocketAddr| history.entries().iter().filter(|e| e.via == at).count();
    assert!(by(address) > 100 && by(second.address()) > 100, "no load");
    history.balances(fleet.ledger());
}

#[tokio::test]
async fn ending_is_told_at_once_and_the_listener_stays_for_the_delay() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 1)]);
    config.listen = "drain_delay = \"1s\"\n".to_owned();
    let process = Process::start(&config.write(&dir, "gateway.toml")).await;
    let (history, address) = (History::default(), process.address());
    let begun = Instant::now();
    process.terminate().await;
    let told = until("a gateway that is not ready", async || {
        let ready = process.admin().get("/readyz").await;
        (ready.status == StatusCode::SERVICE_UNAVAILABLE).then_some(ready.body)
    })
    .await;
    assert!(told.starts_with(b"ending"), "{told:?}");
    let answer = Client::new(0, &history).get(address, "/").await;
    assert_eq!(answer.group(), Some(OLD), "refused within the delay");
    until("a closed listener", async || {
        TcpStream::connect(address).await.err()
    })
    .await;
    assert!(
        begun.elapsed() >= Duration::from_secs(1),
        "closed too early"
    );
    assert_eq!(process.end().await.0, 0);
}

#[tokio::test]
async fn a_second_signal_ends_at_once() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let file = Config::new(&fleet, &[(OLD, 1)]).write(&dir, "gateway.toml");
    let process = Process::start(&file).await;
    let mut held = Raw::connect(process.address()).await;
    held.write("GET /hold HTTP/1.1\r\nhost: a\r\n\r\n").await;
    fleet.ledger().arrival("/hold").await;
    let begun = Instant::now();
    process.terminate().await;
    until("the first signal", async || {
        process.log().contains("another signal").then_some(())
    })
    .await;
    process.terminate().await;
    let (code, log) = process.end().await;
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("ended at once"), "{log}");
    assert!(begun.elapsed() < Duration::from_secs(10), "it waited");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f29_a_killed_gateway_costs_at_most_what_was_in_flight_and_no_session() {
    let fleet = Fleet::start(&[OLD, NEW], 2).await;
    let dir = Scratch::new();
    let (first, second) = pair(&fleet, &dir, "").await;
    let history = History::default();
    let mut clients: Vec<_> = (0..40)
        .map(|number| Client::new(number, &history))
        .collect();
    let mut groups = Vec::new();
    for client in &mut clients {
        let answer = client.get(first.address(), "/").await;
        groups.push(answer.group().map(str::to_owned));
    }
    let (route, receiver) = watch::channel(first.address());
    let load = Steady::start(&history, &receiver, MIX);
    sleep(Duration::from_millis(500)).await;
    route.send_replace(second.address());
    first.kill().await;
    sleep(Duration::from_millis(500)).await;
    let failures = load.end().await;
    println!("{} requests, {} failed", history.len(), failures.len());
    let clients_of_load = usize::try_from(MIX.kept + MIX.fresh + MIX.multiplexed).unwrap();
    assert!(failures.len() <= clients_of_load, "{}", failures.join("\n"));
    for (client, group) in clients.iter_mut().zip(groups) {
        let answer = client.get(second.address(), "/").await;
        assert_eq!(answer.group().map(str::to_owned), group, "a session moved");
        let executed = fleet.ledger().of(answer.request);
        assert_eq!(executed.decision(), "pinned; cause=ok");
    }
}
