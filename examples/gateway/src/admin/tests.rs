//! The client against stand-ins of the admin side, over real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, extract::Request, response::IntoResponse};
use http::{HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{
    answer::Answer,
    call::Call,
    client::{Client, Limits},
    place::Place,
    token::{Token, find},
};
use crate::exit::{Exit, Failure};

/// What a stand-in was asked: method, path, token, revision and body.
type Asked = Arc<Mutex<Vec<[String; 5]>>>;

/// An admin side that always answers the same.
struct StandIn {
    place: Place,
    asked: Asked,
}

impl StandIn {
    async fn answers(status: u16, kind: &'static str, body: Value) -> Self {
        let asked = Asked::default();
        let seen = Arc::clone(&asked);
        let answer = move |request: Request| async move {
            let (head, body_in) = request.into_parts();
            let field = |name| {
                let value = head.headers.get(name).map(HeaderValue::to_str);
                value.map_or_else(String::new, |value| value.unwrap().to_owned())
            };
            let bytes = axum::body::to_bytes(body_in, 1 << 20).await.unwrap();
            seen.lock().unwrap().push([
                head.method.to_string(),
                head.uri.path().to_owned(),
                field(header::AUTHORIZATION),
                field(header::IF_MATCH),
                String::from_utf8(bytes.to_vec()).unwrap(),
            ]);
            let status = StatusCode::from_u16(status).unwrap();
            (status, [(header::CONTENT_TYPE, kind)], body.to_string()).into_response()
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = place(&listener);
        let app = Router::new().fallback(answer);
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { place, asked }
    }

    async fn done() -> Self {
        Self::answers(200, "application/json", json!({ "revision": 42 })).await
    }

    async fn problem(status: u16, more: Value) -> Self {
        let mut problem =
            json!({ "type": "some", "title": "Some", "status": status, "detail": "why" });
        problem
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        Self::answers(status, "application/problem+json", problem).await
    }

    fn asked(&self) -> Vec<[String; 5]> {
        self.asked.lock().unwrap().clone()
    }
}

fn place(listener: &TcpListener) -> Place {
    format!("http://{}", listener.local_addr().unwrap())
        .parse()
        .unwrap()
}

/// Where nobody listens: the port was free a moment ago.
async fn nobody() -> Place {
    place(&TcpListener::bind("127.0.0.1:0").await.unwrap())
}

/// Takes connections and never answers; it ends with the listener.
async fn silent() -> (Place, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    (place(&listener), listener)
}

async fn ask(places: &[&Place], call: &Call) -> Result<Answer, Failure> {
    let token = Token(HeaderValue::from_static("Bearer word"));
    let limits = Limits {
        connect: Duration::from_secs(5),
        // only the silent one is waited for that long
        whole: Duration::from_millis(500),
    };
    let places = places.iter().copied().cloned().collect();
    Client::new(places, Ok(token), limits).ask(call).await
}

fn change() -> Call {
    Call::change(Method::POST, "/v1/groups/b/drain", &json!({}))
}

async fn failure(status: u16, more: Value) -> Failure {
    let admin = StandIn::problem(status, more).await;
    ask(&[&admin.place], &change())
        .await
        .expect_err("a problem was taken as success")
}

#[tokio::test]
async fn the_first_that_answers_is_asked_alone() {
    let (dead, first, second) = (nobody().await, StandIn::done().await, StandIn::done().await);
    let call = change().if_match(Some(41));
    let answer = ask(&[&dead, &first.place, &second.place], &call)
        .await
        .unwrap();
    assert_eq!(answer.text(), r#"{"revision":42}"#);
    let asked = ["POST", "/v1/groups/b/drain", "Bearer word", "\"41\"", "{}"];
    assert_eq!(first.asked(), [asked.map(str::to_owned)]);
    assert!(second.asked().is_empty(), "two admin sides made one change");
}

#[tokio::test]
async fn a_refusal_is_an_answer() {
    let (first, second) = (
        StandIn::problem(409, json!({})).await,
        StandIn::done().await,
    );
    let failure = ask(&[&first.place, &second.place], &change())
        .await
        .unwrap_err();
    assert_eq!(failure.exit, Exit::Refused);
    assert!(
        second.asked().is_empty(),
        "a refused change was asked of another one"
    );
}

#[tokio::test]
async fn a_question_goes_on_after_silence() {
    let ((mute, _listener), second) = (silent().await, StandIn::done().await);
    ask(&[&mute, &second.place], &Call::get("/v1/rollout"))
        .await
        .unwrap();
    ask(&[&mute, &second.place], &change().idempotent())
        .await
        .unwrap();
    assert_eq!(second.asked().len(), 2);
}

#[tokio::test]
async fn a_change_that_may_have_been_made_goes_nowhere_else() {
    let ((mute, _listener), second) = (silent().await, StandIn::done().await);
    let failure = ask(&[&mute, &second.place], &change()).await.unwrap_err();
    assert_eq!(failure.exit, Exit::TimedOut);
    assert!(failure.advice.unwrap().contains("may have been made"));
    assert!(second.asked().is_empty(), "the change was made twice");
}

#[tokio::test]
async fn all_that_were_tried_are_named() {
    let (one, other) = (nobody().await, nobody().await);
    let failure = ask(&[&one, &other], &Call::get("/v1/rollout"))
        .await
        .unwrap_err();
    assert_eq!(
        (failure.exit, failure.problem.kind.as_str()),
        (Exit::Failed, "unreachable")
    );
    let detail = failure.problem.detail;
    for place in [one, other] {
        assert!(
            detail.contains(&format!("{place} (Connection refused")),
            "{detail}"
        );
    }
}

#[tokio::test]
async fn nobody_in_time_is_a_time_out() {
    let ((mute, _listener), dead) = (silent().await, nobody().await);
    let failure = ask(&[&mute, &dead], &Call::get("/v1/rollout"))
        .await
        .unwrap_err();
    assert_eq!(
        (failure.exit, failure.problem.kind.as_str()),
        (Exit::TimedOut, "timed-out")
    );
}

#[tokio::test]
async fn each_status_has_its_exit_code() {
    for (status, exit) in [
        (400, Exit::Usage),
        (401, Exit::Failed),
        (403, Exit::Failed),
        (404, Exit::Failed),
        (409, Exit::Refused),
        (412, Exit::Refused),
        (415, Exit::Failed),
        (422, Exit::Usage),
        (500, Exit::Failed),
        (503, Exit::Failed),
    ] {
        let failure = failure(status, json!({})).await;
        assert_eq!(failure.exit, exit, "for status {status}");
        assert_eq!(failure.problem.detail, "why");
    }
}

#[tokio::test]
async fn a_refusal_that_can_be_forced_says_how() {
    let forced = failure(409, json!({ "can_be_forced": true })).await;
    assert!(forced.advice.unwrap().contains("--force"));
    let never = failure(409, json!({ "can_be_forced": false })).await;
    assert_eq!(never.advice, None);
}

#[tokio::test]
async fn a_wrong_token_is_told_with_a_way_out() {
    let advice = failure(401, json!({})).await.advice.unwrap();
    assert!(advice.contains("AFFINITY_ADMIN_TOKEN") && advice.contains("--token-file"));
}

#[tokio::test]
async fn what_is_no_admin_side_is_named() {
    for (status, kind) in [
        (200, "text/html"),
        (404, "text/plain"),
        (409, "application/json"),
    ] {
        let other = StandIn::answers(status, kind, json!({ "type": "x", "detail": "y" })).await;
        let failure = ask(&[&other.place], &Call::get("/v1/rollout"))
            .await
            .unwrap_err();
        assert_eq!(
            (failure.exit, failure.problem.kind.as_str()),
            (Exit::Failed, "no-admin-side")
        );
        assert!(failure.problem.detail.starts_with(&other.place.to_string()));
    }
}

#[tokio::test]
async fn only_reading_goes_without_a_token() {
    let admin = StandIn::done().await;
    let missing = find(None, None, "/nonexistent/admin.token".as_ref()).unwrap();
    let client = Client::new(vec![admin.place.clone()], missing, Limits::default());
    client.ask(&Call::get("/v1/rollout")).await.unwrap();
    let failure = client.ask(&change()).await.unwrap_err();
    assert_eq!(
        (failure.exit, failure.problem.kind.as_str()),
        (Exit::Failed, "no-token")
    );
    assert_eq!(
        admin.asked().len(),
        1,
        "a change was asked for without a token"
    );
}
