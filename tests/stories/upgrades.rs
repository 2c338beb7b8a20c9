//! A new process takes the place of a running one, and no client notices (F28, F30).

use std::path::{Path, PathBuf};
use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::{Process, run};
use affinity_tests::raw::Raw;
use affinity_tests::steady::{Mix, Steady};
use affinity_tests::{BOUND, Scratch, until};
use http::StatusCode;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixDatagram, UnixStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

const MIX: Mix = Mix {
    kept: 24,
    fresh: 8,
    multiplexed: 8,
    every: Duration::from_millis(50),
};

async fn upgraded(file: &Path) -> Process {
    Process::start_as(&["--upgrade"], file, &[]).await
}

/// Upgrades `count` times under a load, each after the one before has ended.
#[expect(clippy::print_stdout, reason = "a run tells what it measured")]
async fn upgrades_lose_nothing(count: usize, mix: Mix, pause: Duration) {
    let fleet = Fleet::start(&[OLD, NEW], 2).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]);
    let file = config.write(&dir, "gateway.toml");
    let mut process = Process::start(&file).await;
    let (address, admin) = (process.address(), process.admin().address());
    let history = History::default();
    let mut client = Client::new(1_000_000, &history);
    let group = client.get(address, "/").await.group().map(str::to_owned);
    let (_route, receiver) = watch::channel(address);
    let load = Steady::start(&history, &receiver, mix);
    let started = Instant::now();
    let mut longest = Duration::ZERO;
    for nth in 1..=count {
        sleep(pause).await;
        // more sockets than the one before has, and then fewer workers than there are sockets
        config.listen = format!("workers = {}", [3, 1, 2][nth % 3]);
        assert_eq!(config.write(&dir, "gateway.toml"), file);
        let begun = Instant::now();
        let next = upgraded(&file).await;
        longest = longest.max(begun.elapsed());
        assert_eq!((next.address(), next.admin().address()), (address, admin));
        let (code, log) = std::mem::replace(&mut process, next).end().await;
        assert_eq!(code, 0, "upgrade {nth}: {log}");
        assert!(
            log.contains("connections: 0"),
            "upgrade {nth} cut something: {log}"
        );
        assert!(
            load.failures().is_empty(),
            "upgrade {nth}: {}",
            load.failures().join("\n")
        );
    }
    sleep(pause).await;
    let failures = load.end().await;
    println!(
        "{count} upgrades, the longest until ready {longest:?}; {} requests, {:.0} a second, {} failed",
        history.len(),
        history.len() as f64 / started.elapsed().as_secs_f64(),
        failures.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    history.balances(fleet.ledger());
    let answer = client.get(address, "/").await;
    assert_eq!(answer.group().map(str::to_owned), group, "a session moved");
    assert_eq!(
        fleet.ledger().of(answer.request).decision(),
        "pinned; cause=ok"
    );
    let mode = std::fs::metadata(door(&dir)).expect("the last one can be upgraded, too");
    let mode = std::os::unix::fs::PermissionsExt::mode(&mode.permissions());
    assert_eq!(mode & 0o777, 0o600, "others can ask for the sockets");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f28_three_upgrades_under_load_lose_no_request() {
    upgrades_lose_nothing(3, MIX, Duration::from_millis(500)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes: `just upgrades`"]
async fn f28_fifty_upgrades_at_two_thousand_requests_a_second_lose_none() {
    let mix = Mix {
        kept: 120,
        fresh: 40,
        multiplexed: 40,
        every: Duration::from_millis(100),
    };
    upgrades_lose_nothing(50, mix, Duration::from_secs(3)).await;
}

fn door(dir: &Scratch) -> PathBuf {
    dir.path().join("gateway-state.json.upgrade.sock")
}

/// Speaks as a process that takes over, word by word; the sockets that come are closed unseen.
struct Talk(BufReader<UnixStream>);

impl Talk {
    async fn open(dir: &Scratch) -> Self {
        let stream = until("the upgrade socket", async || {
            UnixStream::connect(door(dir)).await.ok()
        });
        Self(BufReader::new(stream.await))
    }

    /// The answer to a word; empty at the end.
    async fn say(&mut self, word: &str) -> String {
        let line = format!("{word}\n");
        self.0.write_all(line.as_bytes()).await.expect("it listens");
        let mut answer = String::new();
        let read = timeout(BOUND, self.0.read_line(&mut answer)).await;
        // a reset is an end as well
        read.expect("an answer in time").ok();
        answer.trim_end().to_owned()
    }

    async fn sealed(dir: &Scratch) -> Self {
        let mut talk = Self::open(dir).await;
        // one for each worker
        let sockets = talk.say("commit-affinity-upgrade 1").await;
        let data = sockets.strip_prefix("sockets data ");
        let words: Vec<_> = data.unwrap_or_default().split(' ').collect();
        assert!(
            words.split_last().is_some_and(|(last, data)| {
                *last == "admin" && data.iter().all(|place| *place == "data")
            }),
            "{sockets}"
        );
        assert_eq!(talk.say("seal").await, "sealed");
        talk
    }
}

async fn cannot_start(file: &Path, code: i32, told: &str) {
    let args = ["run", "--upgrade", "--config", file.to_str().unwrap()];
    let ended = run(&args, &[]).await;
    assert_eq!(ended.code, code, "{}", ended.stderr);
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    assert!(
        ended.stdout.is_empty(),
        "it says that it is ready: {}",
        ended.stdout
    );
}

async fn failed(process: &Process, count: f64) {
    until("the failure to be counted", async || {
        let samples = process.admin().samples().await;
        let failed = samples.sum("affinity_upgrades_total", &[("outcome", "failed")]);
        (failed == count).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f30_a_process_that_cannot_start_leaves_the_old_one_as_it_was() {
    let fleet = Fleet::start(&[OLD, NEW], 2).await;
    let dir = Scratch::new();
    let config = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]);
    let process = Process::start(&config.write(&dir, "gateway.toml")).await;
    let history = History::default();
    let (_route, receiver) = watch::channel(process.address());
    let load = Steady::start(&history, &receiver, MIX);
    let mut wrong = config.clone();
    wrong.service = "Check Out".to_owned();
    // one that does not know its settings has not even asked
    cannot_start(&wrong.write(&dir, "wrong.toml"), 2, "service").await;
    failed(&process, 0.0).await;
    let mut elsewhere = config.clone();
    elsewhere.address.set_port(1);
    cannot_start(
        &elsewhere.write(&dir, "elsewhere.toml"),
        1,
        "listen.address",
    )
    .await;
    failed(&process, 1.0).await;
    let mut talk = Talk::open(&dir).await;
    assert_eq!(
        talk.say("commit-affinity-upgrade 2").await,
        "",
        "another version is served"
    );
    failed(&process, 2.0).await;
    drop(Talk::sealed(&dir).await);
    failed(&process, 3.0).await;
    let mut talk = Talk::sealed(&dir).await;
    assert_eq!(talk.say("ready").await, "yours");
    drop(talk);
    failed(&process, 4.0).await;
    let kept = || std::fs::read_to_string(dir.path().join("gateway-state.json")).unwrap();
    let before = kept();
    process.admin().weights(&json!({ OLD: 7 })).await.accepted();
    assert_ne!(kept(), before, "the file is not kept any more");
    let failures = load.end().await;
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    history.balances(fleet.ledger());
    let log = process.log();
    assert!(log.contains("no upgrade: this process goes on"), "{log}");
}

/// A leak of descriptors is when a new binary is needed most.
#[tokio::test]
async fn an_upgrade_is_possible_after_a_lack_of_descriptors() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let file = Config::new(&fleet, &[(OLD, 1)]).write(&dir, "gateway.toml");
    let process = Process::start(&file).await;
    process.limit_files(3).await;
    let knocks = Talk::open(&dir).await;
    until("the lack to be told", async || {
        let log = process.log();
        log.contains("from this one, trying again").then_some(())
    })
    .await;
    process.limit_files(1024).await;
    drop(knocks);
    let next = upgraded(&file).await;
    let (code, log) = process.end().await;
    assert_eq!(code, 0, "{log}");
    let history = History::default();
    let answer = Client::new(0, &history).get(next.address(), "/").await;
    assert_eq!(answer.group(), Some(OLD));
}

/// Others of the same user that connect, and then: say nothing, half a word, too much, two words at
/// once, or bytes that are no text.
#[tokio::test]
async fn who_only_holds_the_door_keeps_nobody_out() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let file = Config::new(&fleet, &[(OLD, 1)]).write(&dir, "gateway.toml");
    let process = Process::start(&file).await;
    let long = "x".repeat(1 << 20);
    let hello = "commit-affinity-upgrade 1\nseal\nready\n";
    let mut held = Vec::new();
    for word in [
        &b""[..],
        b"commit-aff",
        long.as_bytes(),
        hello.as_bytes(),
        b"\xff\n",
    ] {
        let mut talk = Talk::open(&dir).await.0.into_inner();
        // too much does not fit into the socket while nobody reads it
        let said = timeout(Duration::from_millis(100), talk.write_all(word)).await;
        assert_eq!(said.is_err(), word.len() == long.len());
        held.push(talk);
    }
    let begun = Instant::now();
    let next = upgraded(&file).await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(20), "kept out for {took:?}");
    let (code, log) = process.end().await;
    assert_eq!(code, 0, "{log}");
    let told = log.matches("no upgrade: this process goes on").count();
    assert_eq!(told, held.len(), "{log}");
    next.terminate().await;
    assert_eq!(next.end().await.0, 0);
}

#[tokio::test]
async fn changes_are_refused_only_while_the_state_goes_over() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let file = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]).write(&dir, "gateway.toml");
    let process = Process::start(&file).await;
    let talk = Talk::sealed(&dir).await;
    for (verb, body) in [("abort", json!({})), ("drain", json!({}))] {
        let told = process.admin().verb(NEW, verb, &body).await;
        let (kind, detail) = told.problem(StatusCode::CONFLICT);
        assert_eq!(kind, "handed-over", "{detail}");
        assert!(detail.contains("in a moment"), "{detail}");
    }
    drop(talk);
    until("the state to come back", async || {
        let told = process.admin().verb(NEW, "abort", &json!({})).await;
        (told.status == StatusCode::OK).then_some(())
    })
    .await;
    let revision = process.admin().rollout().await["revision"].clone();
    let next = upgraded(&file).await;
    assert_eq!(json!(next.revision()), revision);
    assert_eq!(process.end().await.0, 0);
    assert_eq!(
        next.admin().group(NEW).await["state"],
        "aborted",
        "it is forgotten"
    );
    next.admin().weights(&json!({ OLD: 3 })).await.accepted();
    next.terminate().await;
    assert_eq!(next.end().await.0, 0);
    assert!(!door(&dir).exists(), "the upgrade socket is left behind");
    let again = Process::start(&file).await;
    assert_eq!(
        again.admin().group(OLD).await["weight"],
        3,
        "it was not kept"
    );
}

#[tokio::test]
async fn an_abort_at_the_new_process_ends_what_the_old_one_has_open() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 0), (NEW, 1)]);
    config.sections = "[rollback]\nstreams = \"500ms\"\n".to_owned();
    let file = config.write(&dir, "gateway.toml");
    let process = Process::start(&file).await;
    let mut stream = Raw::connect(process.address()).await;
    stream
        .write("GET /events HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
        .await;
    stream.read_to("data:").await;
    let next = upgraded(&file).await;
    next.admin().verb(NEW, "abort", &json!({})).await.accepted();
    let begun = Instant::now();
    let rest = timeout(BOUND, stream.read_all()).await.expect("an end");
    assert!(
        !rest.contains("\r\n0\r\n"),
        "a cut stream looks whole: {rest}"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "only at the deadline"
    );
    let (code, log) = process.end().await;
    assert_eq!(code, 0, "{log}");
    let history = History::default();
    let answer = Client::new(0, &history).get(next.address(), "/").await;
    assert_eq!(answer.group(), Some(OLD));
}

#[tokio::test]
async fn without_a_running_gateway_there_is_nothing_to_upgrade() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let file = Config::new(&fleet, &[(OLD, 1)]).write(&dir, "gateway.toml");
    let ended = run(
        &["run", "--upgrade", "--config", file.to_str().unwrap()],
        &[],
    )
    .await;
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (1, ""),
        "{}",
        ended.stderr
    );
    let told = ended.stderr.contains("upgrade.sock") && ended.stderr.contains("without --upgrade");
    assert!(told, "{}", ended.stderr);
    assert!(
        !dir.path().join("gateway-state.json").exists(),
        "it made a state"
    );
}

/// What systemd hears of a unit of `Type=notify`.
#[tokio::test]
async fn a_supervisor_is_told_which_process_serves() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let file = Config::new(&fleet, &[(OLD, 1)]).write(&dir, "gateway.toml");
    let place = dir.path().join("notify");
    let supervisor = UnixDatagram::bind(&place).unwrap();
    let env = [("NOTIFY_SOCKET", place.to_str().unwrap())];
    let told = async || {
        let mut word = [0; 256];
        let read = timeout(BOUND, supervisor.recv(&mut word)).await;
        let count = read.expect("a word in time").expect("a word");
        String::from_utf8_lossy(&word[..count]).into_owned()
    };
    let process = Process::start_with(&file, &env).await;
    assert_eq!(
        told().await,
        format!("READY=1\nMAINPID={}\n", process.pid())
    );
    let next = Process::start_as(&["--upgrade"], &file, &env).await;
    assert_eq!(told().await, format!("READY=1\nMAINPID={}\n", next.pid()));
}
