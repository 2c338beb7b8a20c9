//! Traces and metrics as a collector gets them.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod collector;

use std::process::Stdio;

use affinity_gateway::otel::Telemetry;
use affinity_tests::Scratch;
use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use http::Request;
use http_body_util::Full;
use tokio::process::Command;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use self::collector::{Collector, text};

const OLD: &str = "9f1c2ab";
/// So many that each of two endpoints is asked, whatever chance does.
const REQUESTS: usize = 40;
/// The request whose trace is not kept. The last: an endpoint that refuses is asked once and then
/// left alone, and that attempt has to be in a trace that is kept.
const NOT_KEPT: usize = REQUESTS - 1;
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// A process of its own, since it is the environment that says where telemetry goes: this test
/// binary again, with the test below. Answers what it said.
async fn watched(env: &[(&str, &str)]) -> String {
    let mut child = Command::new(std::env::current_exe().expect("this binary"));
    child.args([
        "--exact",
        "a_gateway_that_is_watched",
        "--ignored",
        "--nocapture",
    ]);
    child.envs(env.iter().copied()).stdin(Stdio::null());
    let ended = child.output().await.expect("this binary runs");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success(), "{said}{errors}");
    assert!(said.contains("1 passed"), "it did not run: {said}");
    said
}

#[tokio::test]
#[ignore = "it is the other process of the tests beside it"]
async fn a_gateway_that_is_watched() {
    assert!(
        std::env::var_os(ENDPOINT).is_some(),
        "{ENDPOINT} is not set"
    );
    let telemetry = Telemetry::begin("checkout").expect("telemetry begins");
    tracing_subscriber::registry()
        .with(telemetry.layer())
        .init();

    let mut fleet = Fleet::start(&[OLD], 2).await;
    let dir = Scratch::new();
    let config = Config::new(&fleet, &[(OLD, 1)]);
    // one of the two refuses connections
    fleet.end(OLD, 0);
    let replica = Replica::start(&dir, &config).await;
    let mut client = Client::new(1, &History::default());
    for nth in 0..REQUESTS {
        let request = Request::get("/step?card=4111");
        // the first one says that its trace is kept, another that it is not
        let request = match nth {
            0 => request.header("traceparent", format!("00-{TRACE}-{PARENT}-01")),
            NOT_KEPT => request.header("traceparent", format!("00-{TRACE}-{PARENT}-00")),
            _ => request,
        };
        let request = request.body(Full::default()).expect("a request");
        let answer = client.send(replica.address(), request).await;
        assert_eq!(answer.status, 200);
        let heard = fleet.ledger().of(answer.request);
        let heard = heard
            .field("traceparent")
            .map(<[u8]>::to_vec)
            .unwrap_or_default();
        println!("endpoint {nth} {}", String::from_utf8_lossy(&heard));
    }
    let _drained = replica.gateway.shutdown().await;
    tokio::task::spawn_blocking(|| telemetry.end())
        .await
        .expect("no panic")
        .expect("the collector takes it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_a_trace_of_its_decision_and_its_attempts() {
    let (collector, address) = Collector::start().await;
    let said = watched(&[(ENDPOINT, &format!("http://{address}"))]).await;

    let requests = collector.spans("GET");
    assert_eq!(
        requests.len(),
        REQUESTS - 1,
        "all but the one that is not kept: {requests:#?}"
    );
    let first = &requests[0];
    assert_eq!(
        hex(&first.trace_id),
        TRACE,
        "it is part of the client's trace"
    );
    assert_eq!(hex(&first.parent_span_id), PARENT);
    for (name, value) in [
        ("http.request.method", "GET"),
        ("http.response.status_code", "200"),
        ("url.path", "/step"),
        ("deployment.id", OLD),
        ("affinity.decision", "assigned"),
        ("affinity.cause", "new"),
        ("affinity.cohort", "current"),
    ] {
        assert_eq!(
            text(&first.attributes, name).as_deref(),
            Some(value),
            "{name}"
        );
    }
    assert_eq!(
        text(&requests[1].attributes, "affinity.decision").as_deref(),
        Some("pinned")
    );

    let parent = format!("endpoint 0 00-{TRACE}-{}-01", hex(&first.span_id));
    assert!(
        said.contains(&parent),
        "the endpoint does not hear of the gateway's span: {said}"
    );

    let decisions = collector.spans("affinity.decide");
    assert_eq!(decisions.len(), requests.len());
    let attempts = collector.spans("affinity.attempt");
    for request in &requests {
        let decided = decisions
            .iter()
            .filter(|span| span.parent_span_id == request.span_id);
        assert_eq!(decided.count(), 1);
        let tried = attempts
            .iter()
            .filter(|span| span.parent_span_id == request.span_id);
        let last = tried
            .max_by_key(|span| span.end_time_unix_nano)
            .expect("an attempt");
        assert_eq!(last.trace_id, request.trace_id);
        assert_eq!(
            text(&last.attributes, "http.response.status_code").as_deref(),
            Some("200")
        );
    }
    let failed = attempts
        .iter()
        .filter(|span| text(&span.attributes, "error.type").is_some());
    let failed: Vec<_> = failed.collect();
    assert!(
        !failed.is_empty(),
        "the dead endpoint was never asked: {attempts:#?}"
    );
    for attempt in failed {
        assert_eq!(
            text(&attempt.attributes, "error.type").as_deref(),
            Some("unreached")
        );
    }
    assert_eq!(
        collector.resource("service.name").as_deref(),
        Some("checkout")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_counted_is_sent_under_the_names_of_the_conventions() {
    let (collector, address) = Collector::start().await;
    watched(&[
        (ENDPOINT, &format!("http://{address}")),
        ("OTEL_TRACES_EXPORTER", "none"),
    ])
    .await;

    let labels = |decision| {
        [
            ("deployment.id", OLD),
            ("affinity.decision", decision),
            ("affinity.code_class", "2xx"),
        ]
    };
    assert_eq!(
        collector.sum("affinity.requests", &labels("assigned")),
        Some(1)
    );
    assert_eq!(
        collector.sum("affinity.requests", &labels("pinned")),
        Some(REQUESTS as i64 - 1)
    );
    assert!(collector.has_histogram("http.server.request.duration", OLD));
    assert_eq!(collector.spans("GET").len(), 0, "traces were turned off");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
