//! Values of sessions in this process, through a whole router.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRef, State};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Extension, Router};
use http::{Request, Response};
use http_body_util::BodyExt;
use tower::ServiceExt;
use tower_affinity::core::{Level, Lifetimes};
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity::{AffinityLayer, Local, LocalSessions};

use crate::support::{COOKIE_NAME, Site, at_once};

/// A step of a flow, counted as long as it lives.
#[derive(Clone)]
struct Flow(u32, #[allow(dead_code)] Arc<()>);

#[derive(Clone)]
struct Held {
    flows: LocalSessions<Flow>,
    made: Arc<AtomicUsize>,
    alive: Arc<()>,
}

impl FromRef<Held> for LocalSessions<Flow> {
    fn from_ref(held: &Held) -> Self {
        held.flows.clone()
    }
}

async fn step(flow: Local<Flow>, State(held): State<Held>) -> String {
    flow.get_or_insert_with(|| {
        held.made.fetch_add(1, Ordering::SeqCst);
        Flow(0, Arc::clone(&held.alive))
    });
    let step = flow.update(|flow| {
        flow.0 += 1;
        flow.0
    });
    step.map_or("gone".to_owned(), |step| step.to_string())
}

async fn maybe(flow: Option<Local<Flow>>) -> String {
    let flow = flow.map(|flow| {
        flow.get()
            .map_or("empty".to_owned(), |flow| flow.0.to_string())
    });
    flow.unwrap_or("no place".to_owned())
}

async fn finish(flow: Local<Flow>) -> impl IntoResponse {
    (Extension(flow.end()), "done")
}

fn held(site: &Site) -> Held {
    let flows = LocalSessions::<Flow>::builder(Lifetimes::default())
        .clock(site.clock.clone())
        .build()
        .unwrap();
    Held {
        flows,
        made: Arc::default(),
        alive: Arc::default(),
    }
}

fn unlayered(held: &Held) -> Router {
    Router::new()
        .route("/step", post(step))
        .route("/maybe", get(maybe))
        .route("/finish", post(finish))
        .with_state(held.clone())
}

fn router(layer: &AffinityLayer, held: &Held) -> Router {
    unlayered(held).layer(layer.clone())
}

fn send(app: &Router, method: &str, path: &str, token: Option<&str>) -> (Response<()>, String) {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(token) = token {
        request = request.header("cookie", format!("{COOKIE_NAME}={token}"));
    }
    let request = request.body(Body::empty()).unwrap();
    let (parts, body) = at_once(app.clone().oneshot(request)).unwrap().into_parts();
    let body = at_once(body.collect()).unwrap().to_bytes();
    (
        Response::from_parts(parts, ()),
        String::from_utf8(body.to_vec()).unwrap(),
    )
}

/// The pin that an answer sets.
fn set(response: &Response<()>) -> String {
    let line = response.headers()["set-cookie"].to_str().unwrap();
    let (_, rest) = line.split_once('=').unwrap();
    rest.split(';').next().unwrap().to_owned()
}

#[test]
fn a_session_finds_its_value_again_and_no_other_session_does() {
    let site = Site::new();
    let held = held(&site);
    let app = router(&site.layer, &held);
    let (response, body) = send(&app, "POST", "/step", None);
    assert_eq!(body, "1");
    let token = set(&response);
    for step in ["2", "3"] {
        assert_eq!(send(&app, "POST", "/step", Some(&token)).1, step);
    }
    assert_eq!(send(&app, "POST", "/step", None).1, "1");
    assert_eq!(send(&app, "POST", "/step", Some("forged")).1, "1");
    assert_eq!(held.made.load(Ordering::SeqCst), 3);
}

#[test]
fn a_pin_that_is_still_valid_finds_no_value_after_the_idle_timeout() {
    let site = Site::new();
    let held = held(&site);
    let app = router(&site.layer, &held);
    let alone = Arc::strong_count(&held.alive);
    let token = set(&send(&app, "POST", "/step", None).0);
    assert_eq!(Arc::strong_count(&held.alive), alone + 1);
    site.clock.advance(Duration::from_secs(599));
    assert_eq!(send(&app, "GET", "/maybe", Some(&token)).1, "1");
    site.clock.advance(Duration::from_secs(600));
    let (response, body) = send(&app, "GET", "/maybe", Some(&token));
    assert_eq!(body, "empty");
    assert_eq!(
        Arc::strong_count(&held.alive),
        alone,
        "a value outlived its end"
    );
    // the routing clock has outlasted the local one: it is the same session that begins anew
    assert!(!set(&response).is_empty(), "the pin was renewed");
    assert_eq!(send(&app, "POST", "/step", Some(&token)).1, "1");
}

#[test]
fn the_end_of_a_flow_clears_the_pin_and_frees_the_value() {
    let site = Site::new();
    let held = held(&site);
    let app = router(&site.layer, &held);
    let alone = Arc::strong_count(&held.alive);
    let token = set(&send(&app, "POST", "/step", None).0);
    assert_eq!(Arc::strong_count(&held.alive), alone + 1);
    let (response, body) = send(&app, "POST", "/finish", Some(&token));
    assert_eq!(body, "done");
    assert_eq!(set(&response), "", "the pin was not cleared");
    assert!(held.flows.is_empty());
    assert_eq!(
        Arc::strong_count(&held.alive),
        alone,
        "a value outlived its flow"
    );
    // a client that did not get that answer
    assert_eq!(send(&app, "GET", "/maybe", Some(&token)).1, "empty");
}

#[test]
fn a_session_that_was_moved_begins_with_an_empty_place() {
    let site = Site::new();
    let app = router(&site.layer, &held(&site));
    let token = site.token("B");
    for step in ["1", "2"] {
        assert_eq!(send(&app, "POST", "/step", Some(&token)).1, step);
    }
    site.abort("B");
    let (response, body) = send(&app, "POST", "/step", Some(&token));
    assert_eq!(body, "1", "it went on with what another commit had left");
    assert_eq!(send(&app, "POST", "/step", Some(&set(&response))).1, "2");
}

#[test]
fn a_request_without_a_session_is_told_so_unless_the_handler_does_without() {
    let none = Scope::new(PathPattern::all()).level(Level::None);
    let site = Site::with(|builder| builder.scope(none));
    let held = held(&site);
    let app = router(&site.layer, &held);
    let (response, body) = send(&app, "POST", "/step", None);
    assert_eq!(response.status(), 400);
    let kind = &response.headers()["content-type"];
    assert_eq!(kind, "application/problem+json");
    let problem: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(problem["type"], "bad-request");
    assert_eq!(
        problem["detail"],
        "the request has no session, and cannot do without"
    );
    assert_eq!(send(&app, "GET", "/maybe", None).1, "no place");
    assert!(held.flows.is_empty());
}

#[test]
fn without_the_layer_it_says_what_is_missing() {
    let site = Site::new();
    let app = unlayered(&held(&site));
    let (response, body) = send(&app, "POST", "/step", None);
    assert_eq!(response.status(), 500);
    let kind = &response.headers()["content-type"];
    assert_eq!(kind, "application/problem+json", "{body}");
    let problem: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(problem["type"], "about:blank", "{body}");
    assert_eq!(send(&app, "GET", "/maybe", None).1, "no place");
}
