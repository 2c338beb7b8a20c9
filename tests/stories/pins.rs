//! Pins that are wrong in any way are served like none, and never a byte of another cookie is lost.

use std::net::SocketAddr;

use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::endpoint::Execution;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::raw::talk;
use affinity_tests::replica::Replica;
use affinity_tests::{Scratch, until};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

/// Sends a `Cookie` header as it is; answers the head of the answer and what reached the endpoint.
async fn show(fleet: &Fleet, to: SocketAddr, cookie: &str) -> (String, Execution) {
    let target = format!("/show/{}", fleet.ledger().len());
    let request = format!(
        "GET {target} HTTP/1.1\r\nhost: a\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n"
    );
    let answer = talk(to, request).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{cookie}: {answer}");
    (answer, fleet.ledger().arrival(&target).await)
}

async fn pin(history: &History, to: SocketAddr) -> String {
    let mut client = Client::new(0, history);
    client.get(to, "/").await;
    client
        .jar
        .value(COOKIE)
        .expect("a first answer has a pin")
        .to_owned()
}

#[tokio::test]
async fn a_wrong_pin_is_served_like_none_and_replaced() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let config = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]);
    let replica = Replica::start(&dir, &config).await;
    let mut foreign = config.clone();
    foreign.service = "another".to_owned();
    foreign.state = "another.json".to_owned();
    foreign.pin = format!("cookie = {{ name = \"{COOKIE}\" }}");
    let another = Replica::named(&dir, &foreign, "another.toml").await;
    let (history, address) = (History::default(), replica.address());
    let good = pin(&history, address).await;
    let (head, signature) = good.rsplit_once('.').unwrap();
    let other = pin(&history, address).await;
    let payload = other.split('.').nth(1).unwrap();
    let swapped = format!("{}.{payload}.{signature}", head.split('.').next().unwrap());
    let unsigned = format!("eyJhbGciOiJub25lIn0.{payload}.");
    for (value, cause) in [
        (String::new(), "malformed"),
        ("a.b.c".to_owned(), "malformed"),
        (head.to_owned(), "malformed"),
        (format!("{good}A"), "bad_signature"),
        (
            format!("{head}.{}", "A".repeat(signature.len())),
            "bad_signature",
        ),
        (swapped, "bad_signature"),
        (unsigned, "malformed"),
        ("x".repeat(600), "oversize"),
        (pin(&history, another.address()).await, "wrong_audience"),
    ] {
        let sent = format!("a=1;b=\"2\"; {COOKIE}={value}; c==3;");
        let (answer, execution) = show(&fleet, address, &sent).await;
        let decision = execution.decision();
        assert_eq!(decision, format!("assigned; cause={cause}"), "for {value}");
        assert_eq!(
            execution.field("cookie"),
            Some(&b"a=1;b=\"2\"; c==3;"[..]),
            "for {value}"
        );
        assert!(
            answer.contains(&format!("set-cookie: {COOKIE}=ey")),
            "for {value}: {answer}"
        );
    }
}

#[tokio::test]
async fn of_several_pins_the_valid_one_counts_and_too_many_are_none() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1), (NEW, 1)])).await;
    let (history, address) = (History::default(), replica.address());
    let good = pin(&history, address).await;
    for (cookie, decision) in [
        (
            format!("{COOKIE}=a.b.c; {COOKIE}={good}; x=1"),
            "pinned; cause=ok",
        ),
        (
            format!("{COOKIE}={good}; {COOKIE}=a.b.c; x=1"),
            "pinned; cause=ok",
        ),
        (
            format!("{COOKIE}={good}; x=1; {COOKIE}={good}"),
            "pinned; cause=ok",
        ),
        (
            format!("{COOKIE}={good}; ").repeat(5) + "x=1",
            "assigned; cause=duplicates",
        ),
        (
            format!("{}={good}; x=1", COOKIE.to_uppercase()),
            "assigned; cause=new",
        ),
    ] {
        let (_, execution) = show(&fleet, address, &cookie).await;
        assert_eq!(execution.decision(), decision, "for {cookie}");
        let reached = String::from_utf8_lossy(execution.field("cookie").unwrap()).into_owned();
        match decision {
            "assigned; cause=new" => assert_eq!(reached, cookie, "a look-alike is not ours"),
            _ => assert_eq!(reached, "x=1", "for {cookie}"),
        }
    }
}

#[tokio::test]
async fn an_expired_pin_begins_a_new_session() {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let mut config = Config::new(&fleet, &[(OLD, 1), (NEW, 1)]);
    config.pin = "idle_ttl = \"2s\"\nmax_age = \"1h\"\nlocal_idle_timeout = \"1s\"".to_owned();
    let replica = Replica::start(&dir, &config).await;
    let (history, address) = (History::default(), replica.address());
    let good = pin(&history, address).await;
    let (answer, execution) = until("an expired pin", async || {
        let cookie = format!("{COOKIE}={good}; x=1");
        let (answer, execution) = show(&fleet, address, &cookie).await;
        let pinned = execution.decision() == "pinned; cause=ok";
        (!pinned).then_some((answer, execution))
    })
    .await;
    assert_eq!(execution.decision(), "assigned; cause=expired_idle");
    assert_eq!(execution.field("cookie"), Some(&b"x=1"[..]));
    assert!(
        answer.contains(&format!("set-cookie: {COOKIE}=ey")),
        "{answer}"
    );
    let session = affinity_tests::jar::claims(&good)["sid"].clone();
    let session = session.as_str().unwrap().as_bytes();
    assert_ne!(
        execution.field("affinity-session"),
        Some(session),
        "an old id was used again"
    );
}
