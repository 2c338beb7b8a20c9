//! Bodies and heads pass through as they are, in both directions and without waiting.

use affinity_tests::Scratch;
use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::raw::{Raw, talk};
use affinity_tests::replica::Replica;
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use sha2::{Digest, Sha256};

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";

async fn stage() -> (Fleet, Replica, Scratch) {
    let fleet = Fleet::start(&[OLD, NEW], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1), (NEW, 1)])).await;
    (fleet, replica, dir)
}

#[tokio::test]
async fn a_large_body_arrives_whole() {
    let (fleet, replica, _dir) = stage().await;
    let history = History::default();
    let mut client = Client::new(0, &history);
    for size in [0, 1, 70_000, 5_000_000] {
        let body: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        let hash: String = Sha256::digest(&body)
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        let request = Request::post("/upload").body(Full::from(body)).unwrap();
        let told = client.send(replica.address(), request).await.json();
        assert_eq!(
            (&told["length"], &told["sha256"]),
            (&size.into(), &hash.as_str().into())
        );
    }
    history.balances(fleet.ledger());
}

#[tokio::test]
async fn both_directions_stream_at_once_and_trailers_follow() {
    let (_fleet, replica, _dir) = stage().await;
    let mut raw = Raw::connect(replica.address()).await;
    raw.write(
        "POST /echo HTTP/1.1\r\nhost: a\r\nte: trailers\r\ntrailer: x-sum\r\n\
         transfer-encoding: chunked\r\n\r\n6\r\nfirst,\r\n",
    )
    .await;
    // the answer's first piece comes before the request's second one is sent
    let head = raw.read_to("first,").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    raw.write("6\r\nsecond\r\n").await;
    raw.read_to("second").await;
    raw.write("0\r\nx-sum: 12\r\n\r\n").await;
    let end = raw.read_to("\r\n\r\n").await;
    assert!(end.contains("x-sum: 12"), "the trailer is lost: {end:?}");
}

#[tokio::test]
async fn an_answer_is_passed_on_while_it_is_made() {
    let (fleet, replica, _dir) = stage().await;
    let mut raw = Raw::connect(replica.address()).await;
    raw.write("GET /events HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let head = raw.read_to("\n\n\r\n").await;
    assert!(
        head.contains("text/event-stream") && head.contains("data: "),
        "{head}"
    );
    assert!(
        head.contains(COOKIE),
        "streaming is use, and a first answer has a pin: {head}"
    );
    fleet.release();
    raw.read_to("data: end").await;
}

#[tokio::test]
async fn head_has_the_fields_of_get_and_no_body() {
    let (fleet, replica, _dir) = stage().await;
    let history = History::default();
    let mut client = Client::new(0, &history);
    let request = |method| {
        Request::builder()
            .method(method)
            .uri("/x")
            .body(Full::default())
            .unwrap()
    };
    let head = client.send(replica.address(), request(Method::HEAD)).await;
    let get = client.send(replica.address(), request(Method::GET)).await;
    assert_eq!((head.status, head.body.len()), (StatusCode::OK, 0));
    assert_eq!(head.group(), get.group(), "the pin of a HEAD is not obeyed");
    assert_eq!(head.headers["content-type"], get.headers["content-type"]);
    assert_eq!(fleet.ledger().of(head.request).method, Method::HEAD);
}

#[tokio::test]
async fn a_client_that_waits_for_100_is_told_to_go_on() {
    let (_fleet, replica, _dir) = stage().await;
    let mut raw = Raw::connect(replica.address()).await;
    raw.write("POST /x HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n")
        .await;
    let interim = raw.read_to("\r\n\r\n").await;
    assert_eq!(
        interim, "HTTP/1.1 100 Continue\r\n\r\n",
        "an interim answer has no fields of ours"
    );
    raw.write("body").await;
    let answer = raw.read_to("\"length\":4").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn other_cookies_reach_the_endpoint_byte_for_byte() {
    let (fleet, replica, _dir) = stage().await;
    let history = History::default();
    let mut client = Client::new(0, &history);
    client.get(replica.address(), "/").await;
    let pin = client.jar.value(COOKIE).unwrap();
    for (number, (sent, expected)) in [
        (format!("a=1; {COOKIE}={pin}; b=2"), "a=1; b=2"),
        (
            format!("{COOKIE}={pin}; a=\"q;q\" ;b==;; c"),
            "a=\"q;q\" ;b==;; c",
        ),
        (
            format!("x{COOKIE}=1;  {COOKIE}={pin};y=\u{fc}"),
            "x__Host-affinity-checkout=1;y=\u{fc}",
        ),
        (format!("__Host-affinity-other={pin}; {COOKIE}={pin}"), ""),
    ]
    .into_iter()
    .enumerate()
    {
        let target = format!("/cookies/{number}");
        let answer = talk(
            replica.address(),
            format!(
                "GET {target} HTTP/1.1\r\nhost: a\r\ncookie: {sent}\r\nconnection: close\r\n\r\n"
            ),
        )
        .await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        let execution = fleet.ledger().arrival(&target).await;
        assert_eq!(execution.decision(), "pinned; cause=ok", "for {sent}");
        let reached = execution.field("cookie").unwrap_or_default();
        let reached = String::from_utf8_lossy(reached).into_owned();
        match expected {
            "" => assert_eq!(reached, format!("__Host-affinity-other={pin}")),
            expected => assert_eq!(reached, expected, "for {sent}"),
        }
    }
}

#[tokio::test]
async fn what_a_client_or_an_endpoint_says_under_our_names_stops_here() {
    let (fleet, replica, _dir) = stage().await;
    let history = History::default();
    let mut client = Client::new(0, &history);
    let request = Request::get("/spoof")
        .header("affinity-group", "evil")
        .header("affinity-session", "evil")
        .header("affinity-decision", "evil")
        .header("affinity-anything", "evil")
        .header("affinity_group", "evil")
        .header("connection", "affinity-group")
        .header(
            "x-answer",
            format!("set-cookie: {COOKIE}=evil; Path=/; Secure"),
        )
        .header("x-answer", "affinity-outcome: success")
        .header("x-answer", "affinity-group: evil")
        .header("x-answer", "set-cookie: mine=1")
        .body(Full::default())
        .unwrap();
    let answer = client.send(replica.address(), request).await;
    let execution = fleet.ledger().of(answer.request);
    let mut fields = execution
        .headers
        .iter()
        .filter(|(name, _)| *name != "x-answer");
    assert!(
        fields.all(|(_, value)| value != "evil"),
        "{:?}",
        execution.headers
    );
    assert_eq!(
        execution.field("affinity-group"),
        Some(execution.group.as_bytes())
    );
    assert!(
        !answer
            .headers
            .keys()
            .any(|name| name.as_str().starts_with("affinity"))
    );
    assert_eq!(answer.cookies().len(), 2, "{:?}", answer.cookies());
    assert_eq!(client.jar.value("mine"), Some("1"));
    assert_ne!(client.jar.value(COOKIE), Some("evil"));
    let again = client.get(replica.address(), "/").await;
    assert_eq!(again.group(), answer.group());
}

#[tokio::test]
async fn a_connection_that_an_endpoint_cuts_is_a_502_and_keeps_the_pin() {
    let (fleet, replica, _dir) = stage().await;
    let history = History::default();
    let mut client = Client::new(0, &history);
    let group = client
        .get(replica.address(), "/")
        .await
        .group()
        .unwrap()
        .to_owned();
    let pin = client.jar.value(COOKIE).map(str::to_owned);
    let cut = Request::post("/cut").body(Full::from("x")).unwrap();
    let cut = client.send(replica.address(), cut).await;
    assert_eq!((cut.status, cut.group()), (StatusCode::BAD_GATEWAY, None));
    assert_eq!(cut.headers["content-type"], "application/problem+json");
    assert_eq!(cut.json()["type"], "upstream-error", "{}", cut.json());
    let title = "the endpoint gave no valid answer";
    assert_eq!(cut.json()["title"], title, "it was reached");
    assert_eq!(fleet.ledger().of(cut.request).method, Method::POST);
    assert_eq!(client.jar.value(COOKIE).map(str::to_owned), pin);
    assert_eq!(
        client.get(replica.address(), "/").await.group(),
        Some(group.as_str())
    );
}
