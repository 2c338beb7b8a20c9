//! The real binary: how it starts, and what it says when it does not.

use std::net::TcpListener;
use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::{Process, run, run_within};
use affinity_tests::{LOAD_BOUND, Scratch};
use http::StatusCode;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

#[tokio::test]
async fn run_tells_its_real_ports_when_it_is_ready() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let file = Config::new(&fleet, &[(OLD, 1)]).write(&dir, "gateway.toml");
    let process = Process::start(&file).await;
    assert_ne!(
        (process.address().port(), process.admin().address().port()),
        (0, 0)
    );
    let rollout = process.admin().rollout().await;
    assert_eq!(rollout["revision"].as_u64(), Some(process.revision()));
    assert_eq!(process.admin().get("/readyz").await.status, StatusCode::OK);
    let history = History::default();
    let answer = Client::new(0, &history).get(process.address(), "/").await;
    assert_eq!(answer.group(), Some(OLD));
    let token = std::fs::metadata(dir.path().join("admin.token")).expect("a token was made");
    let mode = std::os::unix::fs::PermissionsExt::mode(&token.permissions());
    assert_eq!(mode & 0o777, 0o600, "others can read the token");
}

#[tokio::test]
async fn a_taken_port_is_named_with_its_setting() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = (taken.local_addr().unwrap(), taken);
    for key in ["listen.address", "listen.admin"] {
        let mut config = Config::new(&fleet, &[(OLD, 1)]);
        match key {
            "listen.address" => config.address = taken.0,
            _ => config.admin = taken.0,
        }
        let file = config.write(&dir, "gateway.toml");
        let ended = run(&["run", "--config", file.to_str().unwrap()], &[]).await;
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (1, ""),
            "{}",
            ended.stderr
        );
        let told = ended.stderr.contains(&taken.0.to_string()) && ended.stderr.contains(key);
        assert!(told, "{key}: {}", ended.stderr);
    }
}

#[tokio::test]
async fn a_wrong_configuration_ends_with_2_and_one_message() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let good = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]);
    let file = good.write(&dir, "good.toml");
    let ended = run(&["check", "--config", file.to_str().unwrap()], &[]).await;
    assert_eq!(ended.code, 0, "the right one is refused: {}", ended.stderr);
    let text = good.text();
    for (wrong, told) in [
        (text.replacen("weight = 1", "wieght = 1", 1), vec!["wieght"]),
        (
            text.replacen("weight = 1", "weight = 10001", 1),
            vec!["weight", "10001", "10000"],
        ),
        (text.replace("weight = 1", "weight = 0"), vec!["weight"]),
        (text.replace(NEW, OLD), vec![OLD]),
        (
            text.replace("file:key", "file:nothing"),
            vec!["pin.keys", "nothing"],
        ),
        (
            text.replace("service = \"checkout\"", "service = \"Check Out\""),
            vec!["service", "Check Out"],
        ),
        (
            text.replace("[pin]", "[pin]\nidle_ttl = \"10m\""),
            vec!["idle_ttl", "local_idle_timeout"],
        ),
        (text.replace("[listen]", "[listen"), vec!["TOML"]),
        (String::new(), vec!["service"]),
    ] {
        let file = dir.write("wrong.toml", &wrong);
        for verb in ["run", "check"] {
            let ended = run(&[verb, "--config", file.to_str().unwrap()], &[]).await;
            let told = told.iter().all(|word| ended.stderr.contains(word));
            let clean = ended.stdout.is_empty() && !ended.stderr.contains("panicked");
            assert!(
                ended.code == 2 && told && clean,
                "{verb} of {wrong}: {ended:?}"
            );
        }
    }
    let missing = run(&["check", "--config", "/nothing/here.toml"], &[]).await;
    assert_eq!(missing.code, 2, "{}", missing.stderr);
}

#[tokio::test]
async fn check_prints_settings_that_mean_the_same() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let file = Config::new(&fleet, &[(OLD, 90), (NEW, 10)]).write(&dir, "gateway.toml");
    let first = run(&["check", "--config", file.to_str().unwrap()], &[]).await;
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(!first.stdout.contains("rJ3kq0v9W5"), "the key is printed");
    let file = dir.write("effective.toml", &first.stdout);
    let second = run(&["check", "--config", file.to_str().unwrap()], &[]).await;
    assert_eq!(
        (second.code, &second.stdout),
        (0, &first.stdout),
        "{}",
        second.stderr
    );
    let json = run(
        &["check", "--json", "--config", file.to_str().unwrap()],
        &[],
    )
    .await;
    let json: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json["settings"]["service"], "checkout", "{json}");
    assert!(
        !dir.path().join("gateway-state.json").exists(),
        "checking wrote a state"
    );
}

#[tokio::test]
async fn new_keys_are_fresh_and_usable() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let file = Config::new(&fleet, &[(OLD, 1)]).write(&dir, "gateway.toml");
    let (one, two) = (
        run(&["keys", "new"], &[]).await,
        run(&["keys", "new"], &[]).await,
    );
    assert_eq!((one.code, one.stdout.lines().count()), (0, 1), "{one:?}");
    assert_ne!(one.stdout, two.stdout);
    dir.write("key", &one.stdout);
    let process = Process::start(&file).await;
    let history = History::default();
    let mut client = Client::new(0, &history);
    client.get(process.address(), "/").await;
    let again = client.get(process.address(), "/").await;
    assert_eq!(
        fleet.ledger().of(again.request).decision(),
        "pinned; cause=ok"
    );
    assert!(
        !process.log().contains(one.stdout.trim()),
        "the key is logged"
    );
}

#[tokio::test]
async fn a_request_that_an_operator_never_sees_ends_within_its_deadline() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 1)]);
    config.sections = "[upstream]\nresponse_timeout = \"1s\"\n".to_owned();
    let process = Process::start(&config.write(&dir, "gateway.toml")).await;
    let history = History::default();
    let begun = tokio::time::Instant::now();
    let answer = Client::new(0, &history)
        .get(process.address(), "/hold")
        .await;
    assert_eq!(answer.status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(
        answer.json()["type"],
        "upstream-timeout",
        "{}",
        answer.json()
    );
    assert!(
        begun.elapsed() >= Duration::from_secs(1),
        "it was not waited for"
    );
    process.terminate().await;
    let (_, log) = process.end().await;
    let late = log
        .lines()
        .find(|l| l.contains("an endpoint took too long"));
    let late = late.unwrap_or_else(|| panic!("no timeout was logged: {log}"));
    let address = fleet.addresses(OLD)[0].to_string();
    assert!(late.contains(&address), "{address} is not named: {late}");
}

#[tokio::test]
async fn the_demo_breaks_sessions_without_affinity_and_none_with_it() {
    let ended = run_within(LOAD_BOUND, &["demo", "--once", "--json"], &[]).await;
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let last = ended.stdout.lines().last().expect("a line of JSON");
    let told: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let (off, on) = (&told["affinity_off"], &told["affinity_on"]);
    let number = |value: &serde_json::Value| value.as_u64().unwrap_or_else(|| panic!("{told}"));
    assert!(
        number(&off["broken"]) > 0,
        "nothing breaks without affinity: {told}"
    );
    assert!(
        number(&off["sessions"]) >= 100 && number(&on["sessions"]) >= 100,
        "{told}"
    );
    for none in ["broken_in_rollout", "broken_after_abort"] {
        assert_eq!(number(&on[none]), 0, "{none}: {told}");
    }
    assert!(number(&on["moved"]) > 0, "the abort moved nobody: {told}");
    assert_eq!(number(&on["max_moves_per_session"]), 1, "{told}");
}
