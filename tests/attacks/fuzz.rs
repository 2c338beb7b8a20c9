//! Mutated requests: always an answer or an end, never half a request at an endpoint.

use std::net::SocketAddr;
use std::time::Duration;

use affinity_tests::config::COOKIE;
use affinity_tests::until;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::support::{A, B, Site, Talk, get, talk};

const SEED: u64 = 0x00af_f171;
/// Well below the time for a head, which is what a request that is cut off waits for.
const PATIENCE: Duration = Duration::from_secs(5);

fn seeds(pin: &str) -> Vec<Vec<u8>> {
    let lines =
        format!("cookie: a=1; {COOKIE}={pin}; b=2\r\naffinity-pin: {pin}\r\naccept: */*\r\n");
    vec![
        get(lines),
        format!(
            "POST /x?y=z HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: 5\r\n\
             cookie: {COOKIE}={pin}\r\nexpect: 100-continue\r\n\r\nhello"
        )
        .into_bytes(),
        b"POST / HTTP/1.1\r\nhost: a\r\nconnection: close, te\r\nte: trailers\r\ntrailer: x\r\n\
          transfer-encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nx: 1\r\n\r\n"
            .to_vec(),
        b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
          sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
            .to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00".to_vec(),
    ]
}

fn mutate(random: &mut fastrand::Rng, bytes: &mut Vec<u8>) {
    const SPICE: [&[u8]; 16] = [
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b" ",
        b"\t",
        b":",
        b";",
        b",",
        b"\xff",
        b"=",
        b"transfer-encoding: chunked\r\n",
        b"content-length: 3\r\n",
        b"affinity-group: x\r\n",
        b"HTTP/1.1",
        b"\r\n\r\n",
    ];
    for _ in 0..=random.usize(0..4) {
        if bytes.is_empty() {
            return;
        }
        let at = random.usize(0..bytes.len());
        match random.u8(0..6) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.u8(0..8),
            2 => drop(bytes.remove(at)),
            3 => {
                let spice = SPICE[random.usize(0..SPICE.len())];
                bytes.splice(at..at, spice.iter().copied());
            }
            4 => {
                let end = (at + random.usize(1..40)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            _ => bytes.truncate(at),
        }
    }
}

/// Answers 1 if there was an answer.
async fn exchange(to: SocketAddr, bytes: Vec<u8>) -> usize {
    let shown = String::from_utf8_lossy(&bytes).into_owned();
    let mut talk = Talk::open(to).await;
    talk.write(&bytes).await;
    let reply = timeout(PATIENCE, talk.finish()).await;
    let reply = reply.unwrap_or_else(|_| panic!("neither answered nor ended: {shown:?}"));
    let status = reply.status();
    assert!(status < 500 || status == 502, "{shown:?}: {}", reply.text());
    usize::from(status > 0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mutated_requests_are_answered_or_ended_and_never_half_passed_on() {
    const REQUESTS: usize = 2_000;
    let site = Site::start().await;
    let seeds = seeds(&site.pin_b().await);
    let mut random = fastrand::Rng::with_seed(SEED);
    let (mut answered, mut sent) = (0, 0);
    let mut running = JoinSet::new();
    for number in 0..REQUESTS {
        let mut bytes = seeds[number % seeds.len()].clone();
        mutate(&mut random, &mut bytes);
        // a mutation can turn one request into two
        sent += String::from_utf8_lossy(&bytes).matches("HTTP/1.").count();
        if running.len() == 16 {
            answered += running
                .join_next()
                .await
                .expect("one runs")
                .expect("it passes");
        }
        running.spawn(exchange(site.address(), bytes));
    }
    answered += running.join_all().await.into_iter().sum::<usize>();
    until("the end of all requests", async || {
        let samples = site.admin().samples().await;
        (samples.sum("affinity_requests_in_flight", &[]) == 0.0).then_some(())
    })
    .await;
    let seen = [site.a.take(), site.b.take()].concat();
    for seen in &seen {
        assert_eq!(seen.fault(), None, "{}", seen.shown());
        let told = seen.field("affinity-group");
        assert!(
            told.as_deref() == Some(A) || told.as_deref() == Some(B),
            "{}",
            seen.shown()
        );
        let cookies = String::from_utf8_lossy(&seen.fields("cookie").concat()).into_owned();
        let ours = format!("{COOKIE}=");
        let mut pairs = cookies.split(';').map(str::trim_start);
        assert!(
            !pairs.any(|pair| pair.starts_with(&ours)),
            "our cookie went on: {}",
            seen.shown()
        );
    }
    assert!(
        seen.len() <= sent,
        "{} requests became {}",
        sent,
        seen.len()
    );
    assert!(
        answered > REQUESTS / 2,
        "only {answered} answers; nothing is shown"
    );
    assert!(
        seen.len() > REQUESTS / 10,
        "only {} passed on; nothing is shown",
        seen.len()
    );
    assert_eq!(
        talk(site.address(), get("")).await.status(),
        200,
        "it still serves"
    );
}

#[tokio::test]
async fn nonsense_to_the_admin_side_is_refused_and_changes_nothing() {
    let site = Site::start().await;
    let before = site.admin().rollout().await;
    let bodies: Vec<Vec<u8>> = [
        "",
        "null",
        "true",
        "0",
        "-1",
        "1e999",
        "\"x\"",
        "[]",
        "[[]]",
        "{",
        "}",
        "{}x",
        "{\"a\":}",
        "\u{feff}{}",
        "{\"9f1c2ab\":-1}",
        "{\"9f1c2ab\":1.5}",
        "{\"9f1c2ab\":\"1\"}",
        "{\"9f1c2ab\":null}",
        "{\"9f1c2ab\":10001}",
        "{\"9f1c2ab\":99999999999999999999}",
        "{\"9f1c2ab\":0}",
        "{\"nobody\":1}",
        "{\"\":1}",
        "{\"../x\":1}",
        "{\"a b\":1}",
        "{\"\\u0000\":1}",
        "{\"9f1c2ab\":{}}",
        "{\"to\":1}",
        "{\"to\":\"9f1c2ab\",\"force\":\"yes\"}",
        "{\"policy\":\"MOVE\"}",
        "{\"policy\":null,\"x\":1}",
        "{\"within\":\"-1s\"}",
        "{\"within\":\"1\"}",
        "{\"within\":\"99999999999999y\"}",
        "{\"within\":5}",
        "{\"name\":\"x\"}",
        "{\"name\":\"x\",\"endpoints\":[]}",
        "{\"name\":\"x\",\"endpoints\":[\"localhost:1\"]}",
        "{\"name\":\"x\",\"endpoints\":[\"127.0.0.1:0\"]}",
        "{\"name\":\"x\",\"endpoints\":[\"127.0.0.1:99999\"]}",
        "{\"name\":\"x\",\"endpoints\":\"127.0.0.1:1\"}",
        "{\"name\":\"x\",\"endpoints\":[\"127.0.0.1:1\"],\"weight\":10001}",
        "{\"name\":\"9f1c2ab\",\"endpoints\":[\"127.0.0.1:1\"]}",
        "{\"name\":\"a\\r\\nb\",\"endpoints\":[\"127.0.0.1:1\"]}",
        "{\"name\":\"none\",\"endpoints\":[\"127.0.0.1:1\"]}",
        "{\"name\":\"unknown\",\"endpoints\":[\"127.0.0.1:1\"]}",
        "{\"token\":1}",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .chain([
        vec![0xff; 10],
        vec![b'['; 100_000],
        vec![b' '; 3 << 20],
        b"{\"a\":\"\xff\"}".to_vec(),
    ])
    .collect();
    let paths = [
        (Method::PUT, "/v1/rollout/weights"),
        (Method::POST, "/v1/groups"),
        // the stable group can be neither drained nor retired nor aborted without another
        (Method::POST, "/v1/groups/9f1c2ab/drain"),
        (Method::POST, "/v1/groups/9f1c2ab/retire"),
        (Method::POST, "/v1/groups/nobody/abort"),
        (Method::POST, "/v1/groups/9f1c2ab/nothing"),
        (Method::POST, "/v1/groups/%00/promote"),
        (Method::POST, "/v1/groups/..%2f..%2f/promote"),
    ];
    for (method, path) in &paths {
        for body in &bodies {
            let request = Request::builder()
                .method(method.clone())
                .uri(*path)
                .header(AUTHORIZATION, format!("Bearer {}", site.admin().token()))
                .header(CONTENT_TYPE, "application/json");
            let told = site
                .admin()
                .request(request, Bytes::from(body.clone()))
                .await;
            let shown: String = String::from_utf8_lossy(body).chars().take(60).collect();
            assert!(
                told.status.is_client_error(),
                "{path} {shown:?}: {} {}",
                told.status,
                told.text()
            );
            assert_eq!(
                told.headers[CONTENT_TYPE], "application/problem+json",
                "{path} {shown:?}"
            );
        }
    }
    assert_eq!(
        site.admin().rollout().await,
        before,
        "nonsense changed something"
    );
}
