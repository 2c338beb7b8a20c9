//! Answers that are there before the body of their request has ended: clients get them whole.

use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;

use affinity_tests::client::Client;
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::http2::{
    Connection, Field, Frame, PREFACE, block, code, flag, frame, kind, request, status,
};
use affinity_tests::raw::{Raw, talk};
use affinity_tests::replica::Replica;
use affinity_tests::{BOUND, Scratch, until};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

const OLD: &str = "9f1c2ab";
const ENDED: &str = "c3d4e5f";
const HASTY: &str = "0a1b2c3";
const NOBODY: &str = "4d5e6f7";

const REQUESTS: &str = "affinity_requests_total";

/// How much of a body comes before the answer, and how long it is.
const BEGUN: usize = 20;
const LENGTH: usize = 1000;
/// The longest frame.
const PIECE: usize = 16 * 1024;
/// How much is read of a body that nobody wants.
const READ: usize = 256 * 1024;

/// An endpoint that refuses whatever comes as soon as it has seen the head, and reads no more.
async fn hasty() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut read = Vec::new();
                while !read.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
                    if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                let answer = "HTTP/1.1 403 Forbidden\r\ncontent-length: 6\r\n\r\nnever!";
                drop(stream.write_all(answer.as_bytes()).await);
                tokio::time::sleep(BOUND).await;
            });
        }
    });
    address
}

/// A group that serves, one whose sessions are ended, one that refuses early, and one that is not
/// there.
struct Stage {
    replica: Replica,
    /// A session that is ended.
    ended: String,
    _fleet: Fleet,
    _dir: Scratch,
}

/// A request that is answered before its body has ended.
struct Case {
    /// The group of new sessions.
    group: &'static str,
    path: &'static str,
    field: Option<(&'static str, String)>,
    status: u16,
    /// What the answer's body holds.
    holds: &'static str,
}

impl Stage {
    async fn start() -> Self {
        let fleet = Fleet::start(&[OLD, ENDED], 1).await;
        let dir = Scratch::new();
        let nobody = TcpListener::bind("127.0.0.1:0").await;
        let nobody = nobody.and_then(|listener| listener.local_addr()).unwrap();
        let mut config = Config::of([
            (OLD, 0, fleet.addresses(OLD)),
            (ENDED, 1, fleet.addresses(ENDED)),
            (HASTY, 0, vec![hasty().await]),
            (NOBODY, 0, vec![nobody]),
        ]);
        config.listen = "body_timeout = \"1s\"".to_owned();
        config.sections = "[[scope]]\npath = \"/short\"\nmax_body = 10\n\
                           [[scope]]\npath = \"/*\"\n"
            .to_owned();
        let replica = Replica::start(&dir, &config).await;
        let mut client = Client::new(0, &History::default());
        client.get(replica.address(), "/").await;
        let ended = format!("{COOKIE}={}", client.jar.value(COOKIE).unwrap());
        let policy = json!({ "policy": "end" });
        replica.admin.verb(ENDED, "abort", &policy).await.accepted();
        Self {
            replica,
            ended,
            _fleet: fleet,
            _dir: dir,
        }
    }

    fn address(&self) -> SocketAddr {
        self.replica.address()
    }

    /// From now on all new sessions go to a group.
    async fn draw(&self, group: &str) {
        let weight = |name| u16::from(name == group);
        let weights = json!({ OLD: weight(OLD), HASTY: weight(HASTY), NOBODY: weight(NOBODY) });
        self.replica.admin.weights(&weights).await.accepted();
    }

    /// How many bodies were not read to their ends.
    async fn unread(&self) -> f64 {
        let samples = self.replica.admin.samples().await;
        let limit = [("limit", "unread_body")];
        samples.sum("affinity_limits_reached_total", &limit)
    }

    /// Every request was counted with its answer's status.
    async fn counts(&self, classes: [(&str, f64); 3]) {
        let all: f64 = classes.iter().map(|(_, count)| count).sum();
        let samples = until("the last request to be counted", async || {
            let samples = self.replica.admin.samples().await;
            (samples.sum(REQUESTS, &[]) == all).then_some(samples)
        })
        .await;
        for (class, count) in classes {
            let counted = samples.sum(REQUESTS, &[("code_class", class)]);
            assert_eq!(counted, count, "{class}");
        }
        assert_eq!(
            self.unread().await,
            0.0,
            "all bodies were read to their ends"
        );
    }

    /// Why an answer can be early, but for the pauses of a client.
    fn cases(&self) -> Vec<Case> {
        let case = |group, path, field, status, holds| Case {
            group,
            path,
            field,
            status,
            holds,
        };
        let cookie = Some(("cookie", self.ended.clone()));
        let length = Some(("content-length", LENGTH.to_string()));
        vec![
            // the edge
            case(OLD, "*", None, 400, "bad-request"),
            // too long by its length, and by what came
            case(OLD, "/short", length.clone(), 413, "bad-request"),
            case(OLD, "/short", None, 413, "bad-request"),
            // the decision
            case(OLD, "/", cookie, 409, "session-ended"),
            // no endpoint, and one that breaks off
            case(NOBODY, "/", None, 503, "no-ready-endpoint"),
            case(OLD, "/cut", length.clone(), 502, "upstream-error"),
            // an endpoint itself
            case(HASTY, "/", length, 403, "never!"),
            case(HASTY, "/", None, 403, "never!"),
        ]
    }
}

/// A connection of HTTP/2 on which stream 1 was begun with a request whose body has not ended.
struct Upload {
    connection: Connection,
    answer: Vec<u8>,
    status: Option<u16>,
}

impl Upload {
    async fn begin(to: SocketAddr, case: &Case) -> Self {
        let mut connection = Connection::open(to).await;
        let settings = frame(kind::SETTINGS, flag::NONE, 0, &[]);
        connection.write(&[PREFACE, &settings].concat()).await;
        // what the server allows counts once it is confirmed
        let first = timeout(BOUND, connection.next()).await.unwrap();
        assert_eq!(first.unwrap().kind, kind::SETTINGS);
        let mut fields = head("POST", case.path);
        if let Some((name, value)) = &case.field {
            fields.push((name, value));
        }
        let begun = [
            frame(kind::SETTINGS, flag::ACK, 0, &[]),
            frame(kind::HEADERS, flag::END_HEADERS, 1, &block(&fields)),
            frame(kind::DATA, flag::NONE, 1, &[b'x'; BEGUN]),
        ];
        connection.write(&begun.concat()).await;
        Self {
            connection,
            answer: Vec::new(),
            status: None,
        }
    }

    async fn next(&mut self) -> Frame {
        let next = timeout(BOUND, self.connection.next()).await;
        let next = next.expect("the server says something in time");
        let next = next.expect("the connection lives on");
        assert_ne!(next.kind, kind::GOAWAY, "{next}");
        next
    }

    /// Reads the answer to its end.
    async fn answered(&mut self) -> String {
        loop {
            let frame = self.next().await;
            assert_ne!(frame.kind, kind::RST_STREAM, "{frame} within the answer");
            match frame.kind {
                kind::HEADERS => self.status = status(&frame.payload),
                kind::DATA => self.answer.extend_from_slice(&frame.payload),
                _ => {}
            }
            if frame.stream == 1 && frame.ends_stream() {
                return String::from_utf8(std::mem::take(&mut self.answer)).unwrap();
            }
        }
    }

    /// Ends the body, and sees that the connection goes on as if nothing had been.
    async fn end(&mut self) {
        let rest = [
            frame(kind::DATA, flag::END_STREAM, 1, &[b'x'; LENGTH - BEGUN]),
            request(3, &head("GET", "/")),
        ];
        self.connection.write(&rest.concat()).await;
        loop {
            let frame = self.next().await;
            assert_ne!(frame.kind, kind::RST_STREAM, "{frame} behind the answer");
            if frame.stream == 3 && frame.ends_stream() {
                return;
            }
        }
    }

    /// Waits for the stream's reset.
    async fn reset(&mut self) -> Option<u32> {
        loop {
            let frame = self.next().await;
            if frame.stream == 1 && frame.kind == kind::RST_STREAM {
                return frame.code();
            }
        }
    }
}

fn head<'a>(method: &'a str, path: &'a str) -> Vec<Field<'a>> {
    vec![
        (":method", method),
        (":scheme", "http"),
        (":path", path),
        (":authority", "shop.example"),
    ]
}

/// The refusal that needs no endpoint.
fn too_long() -> Case {
    Case {
        group: OLD,
        path: "/short",
        field: None,
        status: 413,
        holds: "bad-request",
    }
}

#[tokio::test]
async fn an_early_answer_on_http_2_is_followed_by_no_reset() {
    let stage = Stage::start().await;
    for case in stage.cases() {
        stage.draw(case.group).await;
        let mut upload = Upload::begin(stage.address(), &case).await;
        let answer = upload.answered().await;
        assert_eq!(upload.status, Some(case.status), "{answer}");
        assert!(answer.contains(case.holds), "{answer}");
        stage.draw(OLD).await;
        upload.end().await;
    }
    stage
        .counts([("2xx", 9.0), ("4xx", 6.0), ("5xx", 2.0)])
        .await;
}

#[tokio::test]
async fn an_early_answer_on_http_1_leaves_the_connection_as_good_as_before() {
    let stage = Stage::start().await;
    for case in stage.cases() {
        stage.draw(case.group).await;
        let mut raw = Raw::connect(stage.address()).await;
        raw.write(begun(&case)).await;
        let answer = raw.read_to(case.holds).await;
        let line = format!("HTTP/1.1 {} ", case.status);
        assert!(answer.starts_with(&line), "{answer}");
        stage.draw(OLD).await;
        raw.write(rest(&case) + "GET / HTTP/1.1\r\nhost: shop.example\r\n\r\n")
            .await;
        let next = raw.read_to("sha256").await;
        assert!(next.contains("HTTP/1.1 200 "), "{next}");
    }
    stage
        .counts([("2xx", 9.0), ("4xx", 6.0), ("5xx", 2.0)])
        .await;
}

/// The head, and the beginning of the body.
fn begun(case: &Case) -> String {
    let mut text = format!("POST {} HTTP/1.1\r\nhost: shop.example\r\n", case.path);
    if let Some((name, value)) = &case.field {
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    let piece = "x".repeat(BEGUN);
    text + &match has_length(case) {
        true => format!("\r\n{piece}"),
        false => format!("transfer-encoding: chunked\r\n\r\n{BEGUN:x}\r\n{piece}\r\n"),
    }
}

/// What is left of the body.
fn rest(case: &Case) -> String {
    let left = LENGTH - BEGUN;
    let piece = "x".repeat(left);
    match has_length(case) {
        true => piece,
        false => format!("{left:x}\r\n{piece}\r\n0\r\n\r\n"),
    }
}

fn has_length(case: &Case) -> bool {
    let field = case.field.as_ref();
    field.is_some_and(|(name, _)| *name == "content-length")
}

#[tokio::test]
async fn a_client_that_paused_for_too_long_gets_its_408_whole() {
    let stage = Stage::start().await;
    let case = Case {
        status: 408,
        path: "/",
        ..too_long()
    };
    stage.draw(OLD).await;
    let mut upload = Upload::begin(stage.address(), &case).await;
    let answer = upload.answered().await;
    assert_eq!(upload.status, Some(408), "{answer}");
    upload.end().await;
    let mut raw = Raw::connect(stage.address()).await;
    raw.write(begun(&case)).await;
    let answer = raw.read_to(case.holds).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    raw.write(rest(&case) + "GET / HTTP/1.1\r\nhost: shop.example\r\n\r\n")
        .await;
    raw.read_to("sha256").await;
    stage
        .counts([("2xx", 3.0), ("4xx", 2.0), ("5xx", 0.0)])
        .await;
}

/// What is read for the client's sake has an end: here the time.
#[tokio::test]
async fn a_body_that_does_not_end_is_given_up_after_a_second() {
    let stage = Stage::start().await;
    let mut upload = Upload::begin(stage.address(), &too_long()).await;
    upload.answered().await;
    let begun = Instant::now();
    assert_eq!(upload.reset().await, Some(code::NO_ERROR));
    let held = begun.elapsed();
    assert!(held >= Duration::from_millis(900), "after {held:?}");
    assert!(held < Duration::from_secs(5), "after {held:?}");
    assert_eq!(stage.unread().await, 1.0);
    // the connection and its other streams live on
    let next = request(3, &head("TRACE", "/"));
    upload.connection.write(&next).await;
    while upload.next().await.stream != 3 {}
}

/// Beyond the bytes that are read the client is held by its window, and has the time to see the
/// answer.
#[tokio::test]
async fn of_a_body_that_goes_on_and_on_no_more_than_256_kib_are_read() {
    let stage = Stage::start().await;
    let mut upload = Upload::begin(stage.address(), &too_long()).await;
    upload.answered().await;
    let begun = Instant::now();
    // as much as the window has room for
    let piece = frame(kind::DATA, flag::NONE, 1, &[b'x'; PIECE]);
    upload.connection.write(&piece.repeat(31)).await;
    let mut opened = 0;
    let reset = loop {
        let frame = upload.next().await;
        match (frame.kind, frame.stream) {
            (kind::WINDOW_UPDATE, 1) => opened += window(&frame),
            (kind::RST_STREAM, 1) => break frame.code(),
            _ => {}
        }
    };
    assert_eq!(reset, Some(code::NO_ERROR));
    let held = begun.elapsed();
    assert!(held >= Duration::from_millis(900), "after {held:?}");
    assert!(
        opened <= READ + 2 * PIECE,
        "{opened} bytes more are asked for"
    );
    assert_eq!(stage.unread().await, 1.0);
}

/// By how much a window is opened.
fn window(frame: &Frame) -> usize {
    let bytes = frame.payload.as_slice().try_into().unwrap();
    usize::try_from(u32::from_be_bytes(bytes)).unwrap()
}

/// A connection of HTTP/1.1 is not closed with bytes unread: that would reset it, and some clients
/// then never see what has come before.
#[tokio::test]
async fn a_long_body_on_http_1_does_not_reset_the_connection() {
    let stage = Stage::start().await;
    for sent in [READ / 2, READ * 3 / 2] {
        let mut stream = TcpStream::connect(stage.address()).await.unwrap();
        let head = "POST /short HTTP/1.1\r\nhost: shop.example\r\ncontent-length: 10000000\r\n\r\n";
        let bytes = [head.as_bytes(), &vec![b'x'; sent]].concat();
        stream.write_all(&bytes).await.unwrap();
        let mut answer = String::new();
        let read = timeout(BOUND, stream.read_to_string(&mut answer)).await;
        read.expect("the connection ends").expect("in good order");
        // after a reset nothing could be sent
        stream.write_all(b"x").await.expect("it is not reset");
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(answer.ends_with('}'), "{answer}");
    }
    assert_eq!(stage.unread().await, 2.0);
}

/// Asked to, it would send what nobody wants.
#[tokio::test]
async fn a_client_that_asks_first_is_not_told_to_send_a_body_for_nobody() {
    let stage = Stage::start().await;
    let head = "POST /short HTTP/1.1\r\nhost: shop.example\r\ncontent-length: 1000\r\n\
                expect: 100-continue\r\n\r\n";
    let begun = Instant::now();
    let answer = talk(stage.address(), head).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    assert!(
        begun.elapsed() < Duration::from_millis(900),
        "it was waited for"
    );
    assert_eq!(stage.unread().await, 0.0);
}
