//! The access log: one line for each request, when it has ended, and nothing secret in it.

use affinity_tests::client::Client;
use affinity_tests::config::Config;
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::process::Process;
use affinity_tests::raw::{Raw, talk};
use affinity_tests::replica::{Replica, load};
use affinity_tests::{Scratch, until};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::Value;

const OLD: &str = "9f1c2ab";
const NEW: &str = "c3d4e5f";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

struct Stage {
    dir: Scratch,
    fleet: Fleet,
    replica: Replica,
    client: Client,
}

impl Stage {
    async fn new(format: &str) -> Self {
        let fleet = Fleet::start(&[OLD, NEW], 1).await;
        let mut config = Config::new(&fleet, &[(OLD, 1), (NEW, 0)]);
        config.sections = logged("access.log", format);
        let dir = Scratch::new();
        let replica = Replica::start(&dir, &config).await;
        let client = Client::new(1, &History::default());
        Self {
            dir,
            fleet,
            replica,
            client,
        }
    }

    async fn get(&mut self, path: &str) -> u64 {
        let answer = self.client.get(self.replica.address(), path).await;
        answer.request
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("access.log")).expect("a log")
    }

    /// So many lines, once they are there.
    async fn lines(&self, count: usize) -> Vec<Value> {
        let what = format!("{count} lines");
        let lines = until(&what, async || {
            let text = self.text();
            let whole = text.ends_with('\n') && text.lines().count() >= count;
            whole.then(|| text.lines().map(str::to_owned).collect::<Vec<_>>())
        });
        let lines = lines.await;
        assert_eq!(lines.len(), count, "{lines:#?}");
        let parse = |line: &String| serde_json::from_str(line).expect("a line is JSON");
        lines.iter().map(parse).collect()
    }
}

fn logged(path: &str, format: &str) -> String {
    format!("[access_log]\npath = \"{path}\"\nformat = \"{format}\"\n")
}

#[tokio::test]
async fn each_request_has_one_line_that_says_what_was_decided() {
    let mut stage = Stage::new("json").await;
    stage.get("/step/1?card=4111").await;
    stage.get("/step/2").await;
    stage
        .replica
        .admin
        .weights(&serde_json::json!({OLD: 1, NEW: 1}))
        .await
        .accepted();
    let to = serde_json::json!({"to": NEW});
    stage.replica.admin.verb(OLD, "abort", &to).await.accepted();
    stage.get("/step/3").await;
    let refused = "TRACE / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    talk(stage.replica.address(), refused).await;

    let lines = stage.lines(4).await;
    let expected = [
        ("/step/1", 200, OLD, "assigned", "new", "current", 1),
        ("/step/2", 200, OLD, "pinned", "ok", "current", 1),
        ("/step/3", 200, NEW, "moved", "aborted", "moved", 1),
        ("/", 405, "none", "refused", "early", "none", 0),
    ];
    for (line, (path, status, group, decision, cause, cohort, attempts)) in
        lines.iter().zip(expected)
    {
        let said = [
            ("path", Value::from(path)),
            ("status", status.into()),
            ("group", group.into()),
            ("decision", decision.into()),
            ("cause", cause.into()),
            ("cohort", cohort.into()),
            ("attempts", attempts.into()),
        ];
        for (field, value) in said {
            assert_eq!(line[field], value, "{field} of {line}");
        }
        assert!(line["duration_ms"].as_f64() > Some(0.0), "{line}");
        assert!(
            line["time"]
                .as_str()
                .is_some_and(|time| time.ends_with('Z')),
            "{line}"
        );
    }
    assert_eq!(lines[2]["moved_from"], OLD);
    let endpoint = stage.fleet.addresses(OLD)[0].to_string();
    assert_eq!(lines[0]["endpoint"], Value::from(endpoint));
    assert!(lines[0]["body_bytes"].as_u64() > Some(0), "{}", lines[0]);
}

#[tokio::test]
async fn nothing_secret_is_in_it() {
    let mut stage = Stage::new("json").await;
    stage.get("/first?token=in-the-query").await;
    stage.get("/second").await;
    stage.lines(2).await;
    let pin = stage
        .client
        .jar
        .value("__Host-affinity-checkout")
        .expect("a pin");
    let session = affinity_tests::jar::claims(pin)["sid"]
        .as_str()
        .expect("an id")
        .to_owned();
    let text = stage.text();
    let part = pin.rsplit('.').next().expect("a signature");
    for secret in [part, &session, "in-the-query"] {
        assert!(!text.contains(secret), "{secret} is in the log: {text}");
    }
}

#[tokio::test]
async fn a_request_keeps_its_trace_and_the_endpoint_hears_of_it() {
    let mut stage = Stage::new("json").await;
    let request = |parent: &str| {
        Request::get("/")
            .header("traceparent", parent)
            .header("tracestate", "a=b")
            .body(Full::<Bytes>::default())
            .expect("a request")
    };
    let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
    let to = stage.replica.address();
    let named = stage.client.send(to, request(&parent)).await.request;
    let broken = stage.client.send(to, request("00-0-0-01")).await.request;
    let lines = stage.lines(2).await;
    assert_eq!(lines[0]["trace_id"], TRACE);

    let told = |id| {
        let seen = stage.fleet.ledger().of(id);
        let told = seen.field("traceparent").expect("a parent").to_vec();
        (
            String::from_utf8(told).expect("text"),
            seen.field("tracestate").is_some(),
        )
    };
    let (heard, state) = told(named);
    assert!(
        heard.starts_with(&format!("00-{TRACE}-")) && heard.ends_with("-01"),
        "{heard}"
    );
    assert_ne!(heard, parent, "the endpoint's parent is the gateway");
    assert!(state, "the state of a trace goes with it");
    let (begun, state) = told(broken);
    let trace = lines[1]["trace_id"].as_str().expect("a trace");
    assert!(
        begun.starts_with(&format!("00-{trace}-")) && begun.ends_with("-00"),
        "{begun}"
    );
    assert!(!state, "the state of no trace was passed on");
}

#[tokio::test]
async fn without_a_log_these_headers_pass_as_they_are() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let replica = Replica::start(&dir, &Config::new(&fleet, &[(OLD, 1)])).await;
    let mut client = Client::new(1, &History::default());
    let parent = "01-anything";
    let request = Request::get("/").header("traceparent", parent);
    let request = request.body(Full::default()).expect("a request");
    let answer = client.send(replica.address(), request).await;
    let seen = fleet.ledger().of(answer.request);
    assert_eq!(seen.field("traceparent"), Some(parent.as_bytes()));
    let answer = client.get(replica.address(), "/").await;
    let seen = fleet.ledger().of(answer.request);
    assert_eq!(seen.field("traceparent"), None, "a header appeared");
}

#[tokio::test]
async fn the_binary_makes_no_trace_that_nobody_wants() {
    let fleet = Fleet::start(&[OLD], 1).await;
    let dir = Scratch::new();
    let config = Config::new(&fleet, &[(OLD, 1)]);
    let process = Process::start(&config.write(&dir, "gateway.toml")).await;
    let mut client = Client::new(1, &History::default());
    let answer = client.get(process.address(), "/").await;
    let seen = fleet.ledger().of(answer.request);
    assert_eq!(seen.field("traceparent"), None, "spans are made for nobody");
}

#[tokio::test]
async fn what_a_client_sends_makes_no_line_long_or_odd() {
    let mut stage = Stage::new("json").await;
    let method = "A".repeat(9_000);
    let path = format!("/\u{202e}\u{85}{}", "x".repeat(2_000));
    let request = format!("{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    talk(stage.replica.address(), request).await;
    stage.get("/").await;
    let text = until("a line", async || {
        let text = stage.text();
        text.lines()
            .last()
            .is_some_and(|line| line.contains("\"/\""))
            .then_some(text)
    });
    for line in text.await.lines() {
        assert!(line.is_ascii() && line.len() < 4_096, "{line}");
    }
}

#[tokio::test]
async fn the_line_of_an_answer_that_the_client_left_says_so() {
    let stage = Stage::new("json").await;
    let mut client = Raw::connect(stage.replica.address()).await;
    client.write("GET /hold HTTP/1.1\r\nhost: a\r\n\r\n").await;
    stage.fleet.ledger().arrival("/hold").await;
    assert_eq!(stage.text(), "", "it has not ended");
    drop(client);
    let lines = stage.lines(1).await;
    assert_eq!(lines[0]["code_class"], "client_abort");
    assert_eq!(lines[0]["status"], Value::Null);
    stage.fleet.release();
}

#[tokio::test]
async fn a_line_for_people_is_one_line_whatever_the_path() {
    let mut stage = Stage::new("text").await;
    stage.get("/a%0Ab").await;
    let text = until("a line", async || {
        let text = stage.text();
        text.ends_with('\n').then_some(text)
    });
    let text = text.await;
    assert_eq!(text.lines().count(), 1, "{text}");
    let parts = [
        " GET /a%0Ab 200 ",
        " group=9f1c2ab decision=assigned cause=new cohort=current",
        " attempts=1 trace=",
    ];
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[tokio::test]
async fn a_pipe_that_nobody_reads_is_refused_and_holds_nobody_up() {
    let stage = Stage::new("json").await;
    let pipe = stage.dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let mut config = Config::new(&stage.fleet, &[(OLD, 1), (NEW, 0)]);
    config.sections = logged("pipe", "json");
    let settings = load(&config.write(&stage.dir, "gateway.toml"));
    let error = stage
        .replica
        .gateway
        .reload(settings)
        .expect_err("nobody reads");
    assert!(affinity_gateway::with_causes(&error).contains("pipe"));
    stage.replica.admin.get("/readyz").await.accepted();
}

#[tokio::test]
async fn a_log_that_cannot_be_opened_changes_nothing() {
    let stage = Stage::new("json").await;
    let fleet = &stage.fleet;
    let mut config = Config::new(fleet, &[(OLD, 1), (NEW, 0)]);
    config.sections = logged("none/such.log", "json");
    let settings = load(&config.write(&stage.dir, "gateway.toml"));
    let error = stage
        .replica
        .gateway
        .reload(settings)
        .expect_err("a missing directory");
    let error = affinity_gateway::with_causes(&error).to_string();
    assert!(
        error.contains("access_log.path") && error.contains("none/such.log"),
        "{error}"
    );
    let mut client = Client::new(2, &History::default());
    client.get(stage.replica.address(), "/").await;
    stage.lines(1).await;
}
