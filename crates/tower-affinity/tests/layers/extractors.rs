//! What a handler of axum is told of its session, and what it says by its answer.

use axum::Router;
use axum::body::Body;
use axum::extract::FromRef;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use http::Request;
use http_body_util::BodyExt;
use tower::ServiceExt;
use tower_affinity::core::{AbortPolicy, AbortRequest, Outcomes};
use tower_affinity::experiments::Experiments;
use tower_affinity::extract::{Moved, RequireGroup, RequiredGroup, RestartFlow};
use tower_affinity::signal::{Outcome, Signal};
use tower_affinity::{Affinity, Arms};
use tower_affinity_testing::name;

use crate::support::{COOKIE_NAME, Site, at_once, texts};

/// An answer as its client gets it.
struct Got {
    status: u16,
    headers: http::HeaderMap,
    body: String,
}

impl Got {
    /// The value of our cookie that the answer sets; empty if it is cleared.
    fn pin(&self) -> Option<String> {
        let line = texts(&self.headers, "set-cookie").into_iter().next()?;
        let pair = line.split(';').next()?;
        Some(pair.strip_prefix(&format!("{COOKIE_NAME}="))?.to_owned())
    }
}

fn send(app: &Router, path: &str, headers: &[(&str, &str)], token: Option<&str>) -> Got {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(token) = token {
        request = request.header("cookie", format!("{COOKIE_NAME}={token}"));
    }
    let answer = app.clone().oneshot(request.body(Body::empty()).unwrap());
    let (parts, body) = at_once(answer).unwrap().into_parts();
    let body = at_once(body.collect()).unwrap().to_bytes();
    Got {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

async fn resume(moved: Moved) -> impl IntoResponse {
    let text = format!(
        "{} {} {}",
        moved.from(),
        moved.cause(),
        moved.at().as_secs()
    );
    (moved.seen(), text)
}

async fn step(moved: Option<Moved>) -> String {
    moved.map_or("still here".to_owned(), |moved| {
        format!("from {}", moved.from())
    })
}

fn moves() -> Router {
    Router::new()
        .route("/resume", get(resume))
        .route("/step", get(step))
}

#[test]
fn a_handler_hears_of_a_move_until_it_says_that_it_has_seen_it() {
    let site = Site::new();
    let app = moves().layer(site.layer.clone());
    let token = site.token("B");
    assert_eq!(send(&app, "/step", &[], Some(&token)).body, "still here");
    site.abort("B");
    let moved = send(&app, "/step", &[], Some(&token));
    assert_eq!(moved.body, "from B");
    let token = moved.pin().unwrap();
    let resumed = send(&app, "/resume", &[], Some(&token));
    let at = site.pin("A").started.as_secs();
    assert_eq!(
        (resumed.status, resumed.body.clone()),
        (200, format!("B aborted {at}"))
    );
    let token = resumed.pin().expect("a pin without the move");
    assert_eq!(send(&app, "/step", &[], Some(&token)).body, "still here");
}

#[test]
fn a_route_for_moved_sessions_is_for_no_other() {
    let site = Site::new();
    let app = moves().layer(site.layer.clone());
    let refused = send(&app, "/resume", &[], Some(&site.token("B")));
    assert_eq!(refused.status, 409);
    assert_eq!(refused.headers["content-type"], "application/problem+json");
    assert!(refused.body.contains("bad-request"), "{}", refused.body);
    assert_eq!(
        send(&moves(), "/resume", &[], None).status,
        500,
        "without a layer"
    );
    assert_eq!(send(&moves(), "/step", &[], None).body, "still here");
}

#[derive(Clone)]
struct Shop {
    commit: RequiredGroup,
}

impl FromRef<Shop> for RequiredGroup {
    fn from_ref(shop: &Shop) -> Self {
        shop.commit.clone()
    }
}

async fn new_step(RequireGroup(affinity): RequireGroup) -> String {
    affinity.group().to_owned()
}

#[test]
fn a_handler_of_one_group_sends_a_request_for_another_away() {
    let site = Site::new();
    let shop = Shop {
        commit: RequiredGroup(name("B")),
    };
    let routes = Router::new().route("/", get(new_step)).with_state(shop);
    let app = routes.clone().layer(site.layer.clone());
    assert_eq!(send(&app, "/", &[], Some(&site.token("B"))).body, "B");
    let refused = send(&app, "/", &[], Some(&site.token("A")));
    assert_eq!(refused.status, 421);
    let marked = refused.headers.contains_key("affinity-misdirected");
    assert!(
        !marked,
        "whoever balances would leave an endpoint that is right"
    );
    assert_eq!(refused.pin(), None);
    assert_eq!(send(&routes, "/", &[], None).status, 500, "without a layer");
}

async fn restart(restart: RestartFlow) -> Response {
    restart.to("/start").into_response()
}

#[test]
fn a_flow_that_begins_anew_sends_a_page_to_the_start_and_ends_the_session() {
    let site = Site::new();
    let app = Router::new()
        .route("/", any(restart))
        .layer(site.layer.clone());
    let token = site.token("A");
    for headers in [
        &[("sec-fetch-mode", "navigate")],
        &[("accept", "text/html,*/*")],
    ] {
        let page = send(&app, "/", headers, Some(&token));
        assert_eq!(
            (page.status, &page.headers["location"]),
            (303, &"/start".parse().unwrap())
        );
        assert_eq!(page.pin().as_deref(), Some(""), "the pin is cleared");
    }
    for headers in [
        &[("sec-fetch-mode", "cors")],
        &[("accept", "application/json")],
    ] {
        let call = send(&app, "/", headers, Some(&token));
        assert_eq!(call.status, 409);
        assert!(call.body.contains("session-ended"), "{}", call.body);
        assert_eq!(call.pin().as_deref(), Some(""), "the pin is cleared");
    }
}

#[test]
fn a_start_that_no_header_can_hold_is_not_sent() {
    async fn bad(restart: RestartFlow) -> Response {
        restart.to("/start\r\nset-cookie: a=b").into_response()
    }
    let site = Site::new();
    let app = Router::new().route("/", get(bad)).layer(site.layer.clone());
    let page = send(
        &app,
        "/",
        &[("sec-fetch-mode", "navigate")],
        Some(&site.token("A")),
    );
    assert_eq!(page.status, 409);
    assert_eq!(page.pin().as_deref(), Some(""));
}

#[test]
fn several_words_of_one_answer_count_together() {
    async fn all() -> impl IntoResponse {
        (
            Signal::MovedSeen,
            Outcome::Success,
            Signal::Release,
            [("affinity-outcome", "failure")],
            "ok",
        )
    }
    async fn end() -> impl IntoResponse {
        (Signal::Release, Signal::End, "bye")
    }
    let site = Site::new();
    let app = Router::new()
        .route("/all", get(all))
        .route("/end", get(end))
        .layer(site.layer.clone());
    site.abort("B");
    let moved = site.get_with(&site.token("B")).cookie().unwrap();
    assert!(site.open(&moved).last_move.is_some());
    let said = send(&app, "/all", &[], Some(&moved));
    let pin = site.open(&said.pin().unwrap());
    assert!(pin.last_move.is_none(), "the move was seen");
    let both = Outcomes::COMPLETED.and(Outcomes::FAILED);
    assert_eq!(pin.outcomes, both, "in the handler's words and in a header");
    assert_eq!(texts(&said.headers, "affinity-outcome"), Vec::<&str>::new());
    assert_eq!(
        send(&app, "/end", &[], Some(&moved)).pin().as_deref(),
        Some("")
    );
}

#[test]
fn a_handler_is_told_its_arms() {
    async fn told(arms: Arms) -> String {
        arms.name_of("button").unwrap_or("none").to_owned()
    }
    async fn maybe(arms: Option<Arms>, affinity: Option<Affinity>) -> String {
        format!("{} {}", arms.is_some(), affinity.is_some())
    }
    let routes = || {
        Router::new()
            .route("/told", get(told))
            .route("/maybe", get(maybe))
    };
    let arms = [("green".parse().unwrap(), tower_affinity_testing::weight(1))];
    let button = tower_affinity::core::Experiment::new("button".parse().unwrap(), arms).unwrap();
    let with = Site::with(|builder| builder.experiments(Experiments::new([button]).unwrap()));
    let app = routes().layer(with.layer);
    assert_eq!(send(&app, "/told", &[], None).body, "green");
    assert_eq!(send(&app, "/maybe", &[], None).body, "true true");
    let app = routes().layer(Site::new().layer);
    assert_eq!(send(&app, "/told", &[], None).status, 500);
    assert_eq!(send(&app, "/maybe", &[], None).body, "false true");
}

#[test]
fn an_ended_session_is_told_the_same_way_by_us_and_by_a_handler() {
    let site = Site::new();
    let app = Router::new()
        .route("/", any(restart))
        .layer(site.layer.clone());
    let token = site.token("B");
    let by_handler = send(&app, "/", &[], Some(&token));
    site.abort_with(
        "B",
        &AbortRequest {
            policy: Some(AbortPolicy::End),
            ..AbortRequest::default()
        },
    );
    let by_us = send(&app, "/", &[], Some(&token));
    let problem = |got: &Got| {
        let body: serde_json::Value = serde_json::from_str(&got.body).unwrap();
        (got.status, body["type"].clone(), got.pin())
    };
    assert_eq!(problem(&by_handler), problem(&by_us));
}
