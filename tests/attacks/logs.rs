//! What is written down: one line per event, no control characters, no secret.

use affinity_tests::config::COOKIE;
use affinity_tests::process::Process;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::json;

use super::support::{B, Forged, SECRET, Site, Talk, get, h2, talk, unpadded};

const MARK: &str = "hostile-mark";
const PASSWORD: &str = "aGVsbG86d29ybGQtcGFzc3dvcmQ";

/// Requests that try to write into the log, with secrets in all places.
fn hostile(pin: &str) -> Vec<Vec<u8>> {
    let secrets = format!(
        "authorization: Bearer {PASSWORD}\r\ncookie: a=1; {COOKIE}={pin}; session={PASSWORD}\r\naffinity-pin: {pin}\r\n"
    );
    let long = "x".repeat(1 << 20);
    vec![
        get(&secrets),
        get(format!("user-agent: {MARK}\x1b[2J\x1b]0;pwn\x07\r\n")),
        get(format!("user-agent: {MARK}\u{202e}gpj.exe\r\naffinity-group: {MARK}\u{2028}x\r\n")),
        get(format!("affinity-group: {MARK}\rINFO forged line\r\n")),
        get(format!("x: {MARK}\nINFO forged line\r\n")),
        get(format!("x: {MARK}\0\r\n")),
        get(format!("cookie: {COOKIE}={MARK}\x1b[31m; session={PASSWORD}\r\n")),
        get(format!("x: {long}\r\n{secrets}")),
        get(format!("cookie: {COOKIE}={}\r\n", &long[..60_000])),
        format!("GET /{MARK}%0d%0aINFO%20forged HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{secrets}\r\n").into(),
        format!("GET /{MARK}\x1b[2J HTTP/1.1\r\nhost: a\r\n{secrets}\r\n").into(),
        format!("GET / HTTP/1.1\r\nhost: {MARK}\x1b[2J\r\nconnection: close\r\n{secrets}\r\n").into(),
        format!("{MARK}\x1b[2J / HTTP/1.1\r\nhost: a\r\n\r\n").into(),
        format!("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n{secrets}\r\n{MARK}\x1b[2J\r\n").into(),
        format!("POST /cut HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n{secrets}\r\n").into(),
    ]
}

fn check(log: &str, secrets: &[(&str, String)], what: &str) {
    for (name, secret) in secrets {
        if let Some(at) = log.find(secret.as_str()) {
            let line = log[..at].lines().last().unwrap_or_default();
            panic!("{what} holds the {name}: {line}…");
        }
    }
}

#[tokio::test]
async fn sec_33_sec_34_no_client_writes_into_the_log_and_no_secret_is_in_it() {
    for (level, format) in [("trace", "text"), ("debug", "text")] {
        let site = Site::start().await;
        let text = site
            .config
            .text()
            .replace("gateway-state.json", &format!("{level}-{format}.json"));
        let file = site.dir.write("logged.toml", text);
        let process = Process::start_with(&file, &[("RUST_LOG", level)]).await;
        let to = process.address();
        let first = talk(to, get("")).await;
        let pin = first.pin().expect("a first answer sets a pin");
        let forged = Forged::of(&pin).sign_with(b"not the key, but as long as one is");
        for bytes in hostile(&pin).into_iter().chain(hostile(&forged)) {
            let mut talk = Talk::open(to).await;
            talk.write(bytes).await;
            talk.finish().await;
        }
        let request = Request::get("http://a/")
            .header("authorization", PASSWORD)
            .header("cookie", format!("{COOKIE}={pin}"));
        h2(to, request.body(Full::<Bytes>::default()).unwrap())
            .await
            .expect("it is served");
        // an endpoint that breaks off, and one that talks nonsense
        site.a.answer(format!("HTTP/1.1 200 OK\r\nx: {MARK}\x1b[2J\r\nset-cookie: s={PASSWORD}\r\ncontent-length: 5\r\nconnection: close\r\n\r\n"));
        talk(to, get("")).await;
        site.a.answer(format!("{MARK}\x1b[2J\r\n\r\n{PASSWORD}"));
        let failed = talk(to, get(format!("cookie: {COOKIE}={pin}\r\n"))).await;
        assert_eq!(failed.status(), 502, "{}", failed.text());
        let inspected = process
            .admin()
            .post("/v1/pins/inspect", &json!({ "token": pin }))
            .await;
        inspected.accepted();
        process
            .admin()
            .verb(B, "abort", &json!({ "to": "x\u{1b}[2J" }))
            .await;
        process
            .admin()
            .post(&format!("/v1/groups/{MARK}%1b%5b2J/abort"), &json!({}))
            .await;

        let token = process.admin().token().to_owned();
        let (_, signature) = pin.rsplit_once('.').unwrap();
        let (_, forged_signature) = forged.rsplit_once('.').unwrap();
        let session = Forged::of(&pin).claims["sid"].as_str().unwrap().to_owned();
        let secrets = [
            ("pin", pin.clone()),
            ("signature", signature.to_owned()),
            ("forged signature", forged_signature.to_owned()),
            ("session", session),
            ("key", unpadded(SECRET)),
            ("admin token", token),
            ("password", PASSWORD.to_owned()),
        ];
        let metrics = process.admin().get("/metrics").await.text();
        check(&metrics, &secrets, "the metrics");
        check(&failed.text(), &secrets, "an error");
        check(
            &inspected.text(),
            &[("pin", pin.clone()), ("signature", signature.to_owned())],
            "an inspection",
        );
        process.terminate().await;
        let (code, log) = process.end().await;
        assert_eq!(code, 0);
        assert!(log.len() > 1_000, "nothing was logged: {log}");
        check(&log, &secrets, "the log");
        assert!(!log.contains("panicked"), "{log}");
        for line in log.lines() {
            let odd = line.chars().find(|c| {
                c.is_control()
                    || ('\u{202a}'..='\u{202e}').contains(c)
                    || ('\u{2066}'..='\u{2069}').contains(c)
                    || matches!(c, '\u{2028}' | '\u{2029}')
            });
            assert_eq!(odd, None, "in {line:?}");
            assert!(
                line.len() < 4_096,
                "a line of {} bytes: {:.300}",
                line.len(),
                line
            );
            // each line begins with its time
            assert!(line.starts_with("20"), "no line of ours: {line}");
        }
    }
}

#[tokio::test]
async fn sec_34_what_is_shown_for_debugging_holds_no_secret() {
    let site = Site::start().await;
    let pin = site.pin_a().await;
    let shown = format!(
        "{:?} {:#?}",
        site.replica.gateway,
        site.replica.gateway.control()
    );
    let bytes = format!("{SECRET:?}");
    let secrets = [
        ("key", unpadded(SECRET)),
        ("key", bytes[1..20].to_owned()),
        ("admin token", site.admin().token().to_owned()),
        ("pin", pin.clone()),
    ];
    check(&shown, &secrets, "the debug form");
    for body in [
        site.admin().get("/v1/rollout").await.text(),
        site.admin().get("/metrics").await.text(),
        site.show(&format!("{pin}x")).await.text(),
    ] {
        check(&body, &secrets, "an answer");
    }
}
