//! What the admin side tells while it happens, and what it shows at one look.

use std::net::SocketAddr;
use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::raw::Raw;
use bytes::Bytes;
use http::{Request, StatusCode};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

use super::verbs::stage::{NEW, OLD, Stage};

/// Opens a stream of events; `more` are further fields.
async fn listen(at: SocketAddr, query: &str, more: &str) -> Raw {
    let mut stream = Raw::connect(at).await;
    let head = format!("GET /v1/events{query} HTTP/1.1\r\nHost: {at}\r\n{more}\r\n");
    stream.write(head).await;
    let head = stream.read_to("\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(head.contains("text/event-stream"), "{head}");
    stream
}

/// The next event of that name.
async fn next(stream: &mut Raw, name: &str) -> Value {
    stream.read_to(&format!("event: {name}\n")).await;
    let text = stream.read_to("\n\n").await;
    let data = text.lines().find_map(|line| line.strip_prefix("data: "));
    let data = data.unwrap_or_else(|| panic!("no data: {text:?}"));
    serde_json::from_str(data).unwrap_or_else(|e| panic!("{e}: {data}"))
}

/// The next event of that kind.
async fn next_of(stream: &mut Raw, kind: &str) -> Value {
    loop {
        let event = next(stream, "happened").await;
        if event["kind"] == kind {
            return event;
        }
    }
}

#[tokio::test]
async fn each_change_is_an_event_with_its_verb_who_and_revision() {
    let stage = Stage::new(90, 10).await;
    let mut stream = listen(stage.admin().address(), "?overview=false", "").await;
    let told = stage.admin().weights(&json!({ OLD: 50, NEW: 50 })).await;
    let event = next_of(&mut stream, "rollout").await;
    let text = event["text"].as_str().unwrap();
    for part in [
        "weights by admin at 127.0.0.1:",
        &format!("revision {}", told.revision()),
        &format!("{NEW} active 10 → active 50"),
    ] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
    stage.admin().weights(&json!({ NEW: 50 })).await.accepted();
    let refused = stage.admin().verb(OLD, "drain", &json!({})).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    stage
        .admin()
        .verb(NEW, "abort", &json!({}))
        .await
        .accepted();
    let event = next_of(&mut stream, "rollout").await;
    let told = "what changed nothing, or was refused, is no event";
    assert_eq!(event["group"], NEW, "{told}");
    let text = event["text"].as_str().unwrap();
    assert!(text.starts_with("abort by admin at "), "{told}: {text}");
    assert!(text.contains(&format!("aborted to {OLD} (move)")), "{text}");
}

#[tokio::test]
async fn a_stream_begins_after_the_last_event_that_was_seen() {
    let stage = Stage::new(90, 10).await;
    let at = stage.admin().address();
    let events = stage.replica.gateway.control().events().clone();
    for text in ["one", "two\nlines", "three"] {
        events.info(affinity_gateway::events::Kind::Config, None, text);
    }
    let mut stream = listen(at, "?overview=false", "").await;
    let first = next_of(&mut stream, "config").await;
    assert_eq!(
        first["text"], "one",
        "who has seen nothing gets all that is kept"
    );
    let id = first["id"].as_u64().unwrap();
    let mut stream = listen(at, "?overview=false", &format!("Last-Event-ID: {id}\r\n")).await;
    let texts = [
        next_of(&mut stream, "config").await["text"].clone(),
        next_of(&mut stream, "config").await["text"].clone(),
    ];
    assert_eq!(texts, ["two\nlines", "three"]);
    for (path, id) in [("/v1/events", "x"), ("/v1/events?all", "1")] {
        let request = Request::get(path).header("last-event-id", id);
        let told = stage.admin().request(request, Bytes::new()).await;
        let (kind, _) = told.problem(StatusCode::BAD_REQUEST);
        assert_eq!(kind, "bad-request", "{path} {id}");
    }
}

#[tokio::test]
async fn streams_end_with_the_gateway_and_hold_nothing_up() {
    let stage = Stage::new(1, 1).await;
    let at = stage.admin().address();
    let mut stream = listen(at, "", "").await;
    next(&mut stream, "overview").await;
    let begin = Instant::now();
    let drained = stage.replica.gateway.shutdown().await;
    assert!(drained.is_clean(), "{drained:?}");
    assert!(
        begin.elapsed() < Duration::from_secs(3),
        "{:?}",
        begin.elapsed()
    );
    // the last chunk: the stream has ended, it was not cut
    stream.read_to("\r\n0\r\n\r\n").await;
}

#[tokio::test]
async fn only_so_many_streams_are_open_at_a_time() {
    let stage = Stage::new(1, 1).await;
    let at = stage.admin().address();
    let mut open = Vec::new();
    for _ in 0..32 {
        open.push(listen(at, "?overview=false", "").await);
    }
    let told = stage.admin().get("/v1/events").await;
    let (kind, _) = told.problem(StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(kind, "too-many-streams");
    let samples = stage.admin().samples().await;
    let count = |name| samples.sum(name, &[]);
    assert_eq!(count("affinity_event_streams_open"), 32.0);
    assert_eq!(count("affinity_event_streams_refused_total"), 1.0);
    drop(open);
    affinity_tests::until("the places are free again", async || {
        let samples = stage.admin().samples().await;
        (samples.sum("affinity_event_streams_open", &[]) == 0.0).then_some(())
    })
    .await;
    listen(at, "", "").await;
}

#[tokio::test]
async fn an_overview_shows_what_requests_did_since_the_one_before() {
    let stage = Stage::new(1, 0).await;
    let at = stage.admin().address();
    let mut stream = listen(at, "", "").await;
    let first = next(&mut stream, "overview").await;
    let group = |overview: &Value, name: &str| {
        let groups = overview["groups"].as_array().unwrap();
        let group = groups.iter().find(|group| group["name"] == name);
        group
            .unwrap_or_else(|| panic!("no {name}: {overview}"))
            .clone()
    };
    let old = group(&first, OLD);
    assert_eq!(
        (
            &old["state"],
            &old["share"],
            &old["stable"],
            &old["per_second"]
        ),
        (&json!("active"), &json!(1.0), &json!(true), &Value::Null),
        "nobody has looked before: {old}"
    );
    let mut client = Client::new(0, &stage.history);
    for _ in 0..10 {
        stage.get(&mut client).await;
    }
    let overview = affinity_tests::until("the requests show", async || {
        let overview = next(&mut stream, "overview").await;
        let old = group(&overview, OLD);
        let seen = &old["window"]["cohorts"]["current"]["requests"];
        (seen.as_f64() == Some(10.0)).then_some(overview)
    })
    .await;
    let old = group(&overview, OLD);
    assert_eq!(old["live_sessions"], 1, "{old}");
    assert_eq!(old["window"]["cohorts"]["current"]["failed"], 0.0);
    let [median, most] = ["p50_seconds", "p95_seconds"].map(|key| old["window"][key].as_f64());
    assert!(median.unwrap() > 0.0 && median <= most, "{old}");
    assert_eq!(group(&overview, NEW)["window"]["cohorts"], json!({}));
    let told = stage.admin().get("/v1/overview").await;
    assert_eq!(told.status, StatusCode::OK);
    assert_eq!(
        (&told.json()["stable"], &told.json()["service"]),
        (&json!(OLD), &json!("checkout"))
    );
}

#[tokio::test]
async fn the_page_needs_no_token_and_lets_nothing_foreign_in() {
    let stage = Stage::new(1, 1).await;
    let page = stage.admin().get("/").await;
    assert_eq!(page.status, StatusCode::OK);
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    for part in ["default-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    for path in ["/", "/page/main.js", "/v1/rollout", "/metrics", "/nothing"] {
        let told = stage.admin().get(path).await;
        for (field, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(told.headers[field], value, "{path}");
        }
        let foreign = Request::get(path).header("origin", "http://evil.example");
        let foreign = stage.admin().request(foreign, Bytes::new()).await;
        let refused = foreign.status == StatusCode::FORBIDDEN;
        assert!(refused || path == "/nothing", "{path}: {}", foreign.status);
    }
    let rebound = Request::get("/").header("host", "evil.example");
    let told = stage.admin().request(rebound, Bytes::new()).await;
    assert_eq!(
        told.status,
        StatusCode::FORBIDDEN,
        "a name that points here"
    );
    for (path, site, status) in [
        ("/v1/events", "cross-site", StatusCode::FORBIDDEN),
        ("/v1/events", "same-site", StatusCode::FORBIDDEN),
        ("/v1/rollout", "same-origin", StatusCode::OK),
        ("/v1/rollout", "none", StatusCode::OK),
        // a link to the page may stand anywhere
        ("/", "cross-site", StatusCode::OK),
    ] {
        let request = Request::get(path).header("sec-fetch-site", site);
        let told = stage.admin().request(request, Bytes::new()).await;
        assert_eq!(told.status, status, "{path} {site}");
    }
}

#[tokio::test]
async fn a_decision_is_explained_and_nothing_is_done() {
    let stage = Stage::with(1, 0, |config| {
        config.sections = "[[scope]]\npath = \"/assets/*\"\naffinity = \"none\"\n\
                           [[scope]]\npath = \"/app/*\"\n"
            .to_owned();
    })
    .await;
    let explain = async |path: &str, pin: &str| {
        let request = Request::get(format!("/v1/explain?path={path}"));
        let request = request.header("affinity-pin", pin);
        stage.admin().request(request, Bytes::new()).await.json()
    };
    let words = |told: &Value| {
        let word = |key: &str| told[key].as_str().unwrap_or("-").to_owned();
        [
            word("scope"),
            word("decision"),
            word("cause"),
            word("group"),
        ]
    };
    let mint = json!({ "group": NEW });
    let pin = stage.admin().post("/v1/pins/mint", &mint).await.json();
    let pin = pin["token"].as_str().unwrap();
    let drawn = explain("/app/x", "").await;
    assert_eq!(words(&drawn), ["/app/*", "assigned", "new", OLD]);
    assert_eq!(
        (&drawn["drawn"], &drawn["issues_pin"]),
        (&json!(true), &json!(true))
    );
    let pinned = explain("/app/x", pin).await;
    assert_eq!(words(&pinned), ["/app/*", "pinned", "ok", NEW]);
    assert_eq!(
        words(&explain("/assets/x", pin).await),
        ["/assets/*", "bypassed", "none", OLD]
    );
    assert_eq!(
        words(&explain("/elsewhere", pin).await),
        ["-", "bypassed", "none", OLD]
    );
    let forged = explain("/app/x", "a.b.c").await;
    assert_eq!(words(&forged), ["/app/*", "assigned", "malformed", OLD]);
    stage
        .admin()
        .verb(NEW, "abort", &json!({}))
        .await
        .accepted();
    let moved = explain("/app/x", pin).await;
    assert_eq!(words(&moved), ["/app/*", "moved", "aborted", OLD]);
    assert_eq!(moved["moved_from"], NEW);
    let samples = stage.admin().samples().await;
    assert_eq!(
        samples.sum("affinity_requests_total", &[]),
        0.0,
        "a question is no request"
    );
    assert_eq!(samples.sum("affinity_pins_rejected_total", &[]), 0.0);
    for path in [
        "/v1/explain",
        "/v1/explain?path=x",
        "/v1/explain?path=/x&key=1",
    ] {
        let told = stage.admin().get(path).await;
        let (kind, _) = told.problem(StatusCode::BAD_REQUEST);
        assert_eq!(kind, "bad-request", "{path}");
    }
}

#[tokio::test]
async fn who_takes_nothing_of_a_stream_is_cut_and_holds_no_place() {
    let stage = Stage::new(1, 1).await;
    let at = stage.admin().address();
    // small, so that it is full soon
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(at).await.unwrap();
    let head = format!("GET /v1/events HTTP/1.1\r\nHost: {at}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let open = async || {
        stage
            .admin()
            .samples()
            .await
            .sum("affinity_event_streams_open", &[])
    };
    affinity_tests::until("it is open", async || (open().await == 1.0).then_some(())).await;
    let events = stage.replica.gateway.control().events().clone();
    let long = "x".repeat(1000);
    // the listener waits ten seconds for a client that takes nothing
    affinity_tests::until_within(Duration::from_secs(60), "it is cut", async || {
        for _ in 0..256 {
            events.info(affinity_gateway::events::Kind::Config, None, &long);
        }
        (open().await == 0.0).then_some(())
    })
    .await;
    let kept = events.after(None).len();
    assert_eq!(
        kept,
        affinity_gateway::events::KEPT,
        "no more is held for anybody"
    );
    drop(stream);
}
