//! Nothing that is secret is in a log, a metric, an error or a debug print.

use std::fmt::Write;
use std::sync::Arc;

use metrics_util::debugging::DebuggingRecorder;
use tower::{Layer, ServiceExt};
use tower_affinity::core::{AbortPolicy, AbortRequest, Lifetimes};
use tower_affinity::{AffinityLayer, AssignLayer, Keyring, PinLayer};

use crate::support::{
    App, Browser, COOKIE_NAME, Everything, K1, K2, Site, TI, ask, at_once, codec, heard,
};

/// Requests of every kind, and all that they say and print, with the secrets that they hold.
fn walk(said: &Everything) -> Vec<String> {
    let mut print = String::new();
    let site = Site::new();
    let mut secrets = vec![K1[3..].to_owned(), K2[3..].to_owned()];
    let mut tokens = Vec::new();
    for group in ["A", "B", "nobody"] {
        tokens.push(site.token(group));
    }
    tokens.push(codec("checkout", K2).seal(&site.pin("A")).token);
    tokens.push(codec("search", K1).seal(&site.pin("A")).token);
    let mut browser = Browser::default();
    let mut sessions = vec![site.pin("A").session];
    let bearer = [("authorization", "Bearer s3cr3t-of-the-client")];
    secrets.push("s3cr3t-of-the-client".to_owned());
    site.app.says(
        200,
        &[
            ("affinity-session", "garbage"),
            ("set-cookie", "affinity=planted"),
        ],
    );
    for round in 0..4 {
        for token in &tokens.clone() {
            let cookie = format!("{COOKIE_NAME}={token}");
            for headers in [
                [("cookie", cookie.as_str())],
                [("affinity-pin", token.as_str())],
            ] {
                let seen = site.get(&[bearer.as_slice(), &headers].concat());
                writeln!(print, "{:?}", seen.response.extensions()).unwrap();
                writeln!(print, "{:?}", seen.affinity()).unwrap();
                tokens.extend(seen.cookie().filter(|token| !token.is_empty()));
                sessions.extend(seen.affinity().session());
                if seen.affinity().decision().kind.as_str() == "refused" {
                    said.write(std::str::from_utf8(&seen.body()).unwrap());
                }
            }
        }
        tokens.truncate(40);
        sessions.extend(browser.get(&site).affinity().session());
        site.advance(TI / 3);
        let policy = Some(AbortPolicy::End);
        match round {
            1 => site.abort_with(
                "B",
                &AbortRequest {
                    policy,
                    ..AbortRequest::default()
                },
            ),
            2 => site.change(|rollout, change| Ok(rollout.raised(change.revision))),
            _ => {}
        }
    }
    let codec = Arc::new(codec("checkout", K1));
    let assign = AssignLayer::new(site.rollouts.clone(), codec.clone()).unwrap();
    let ring = Keyring::parse(&format!("{K1},{K2}")).unwrap();
    let token = site.token("A");
    let (pin, sealed) = (site.pin("A"), codec.seal(&site.pin("A")));
    let opened = codec.open(token.as_bytes(), pin.issued, Lifetimes::default());
    writeln!(
        print,
        "{:?} {assign:?} {ring:?} {codec:?} {pin:?} {sealed:?} {opened:?}",
        site.layer
    )
    .unwrap();
    let builder = AffinityLayer::builder().keyring(ring).service("checkout");
    writeln!(print, "{builder:?} {:?}", site.rollouts).unwrap();
    // what crosses the layers: seen by one that stands between them
    let inner = tower::service_fn(|request: http::Request<crate::support::Body>| {
        let print = format!("{:?}", request.extensions());
        std::future::ready(Ok::<_, std::convert::Infallible>(http::Response::new(
            print,
        )))
    });
    let cookie = format!("{COOKIE_NAME}={token}");
    let request = ask("GET", "/", &[("cookie", cookie.as_str())]);
    let response = at_once(PinLayer::new(codec).layer(inner).oneshot(request)).unwrap();
    print.push_str(response.body());
    let response = at_once(assign.layer(App::new()).oneshot(ask("GET", "/", &[]))).unwrap();
    writeln!(print, "{:?}", response.extensions()).unwrap();
    let write_back = response
        .extensions()
        .get::<tower_affinity::wire::WriteBack>();
    writeln!(print, "{:?}", write_back.expect("a first pin")).unwrap();
    for bad in [
        K1[3..].to_owned(),
        format!("k1:{}", &K1[4..20]),
        format!("no id:{}", &K1[3..]),
    ] {
        let error = Keyring::parse(&bad).unwrap_err();
        writeln!(print, "{error} {error:?}").unwrap();
    }
    said.write(&print);
    secrets.push(token);
    secrets.extend(tokens);
    secrets.extend(sessions.iter().map(ToString::to_string));
    secrets
}

/// SEC-34, SEC-12, SEC-33.
#[test]
fn no_token_key_or_session_is_in_any_log_metric_error_or_debug_print() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let (secrets, mut said) = metrics::with_local_recorder(&recorder, || heard(walk));
    for (key, ..) in snapshotter.snapshot().into_vec() {
        writeln!(said, "{key:?}").unwrap();
    }
    assert!(
        said.contains("affinity_pins_rejected_total"),
        "no metric was looked at"
    );
    assert!(
        said.contains("session-ended"),
        "no error body was looked at"
    );
    let refusal =
        "message=request refused\nproblem=\"session-ended\"\ncause=\"aborted_end\"\ngroup=\"B\"";
    assert!(said.contains(refusal), "no refusal was logged");
    assert!(secrets.len() > 20, "only {} secrets", secrets.len());
    for secret in secrets {
        for (what, part) in parts(&secret) {
            assert!(
                !said.contains(part),
                "{what} of {secret} is in:\n{}",
                around(&said, part)
            );
        }
    }
}

/// What must not be seen: all of it, and of a token its claims and its signature.
fn parts(secret: &str) -> Vec<(&'static str, &str)> {
    let mut parts = vec![("all", secret)];
    let mut segments = secret.split('.').skip(1);
    if let (Some(claims), Some(signature)) = (segments.next(), segments.next()) {
        parts.extend([("the claims", claims), ("the signature", signature)]);
    }
    parts
}

fn around<'a>(said: &'a str, part: &str) -> &'a str {
    said.lines()
        .find(|line| line.contains(part))
        .unwrap_or_default()
}
