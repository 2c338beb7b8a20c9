//! A process that is one of the groups, behind a balancer that knows no sessions.

use std::collections::HashSet;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use tower_affinity::Rollouts;
use tower_affinity::core::GroupName;
use tower_affinity::wire::{AssignBy, PathPattern, Scope};

use super::client::{Client, NEW, OLD, layer, rollouts, weigh_evenly};
use crate::app;

/// The service as a process of one commit.
fn process(rollouts: &Rollouts, commit: &str) -> Router {
    let commit: GroupName = commit.parse().unwrap();
    let affinity = layer(rollouts).serving(commit.clone()).build().unwrap();
    app(affinity, Some(commit))
}

#[tokio::test]
async fn a_process_keeps_its_own_sessions_and_refuses_those_of_others() {
    let rollouts = rollouts();
    let of = |commit: &str| process(&rollouts, commit);
    let mut client = Client::new(of(OLD));
    let first = client.post("/start", None).await.answer();
    assert_eq!(
        first.state.commit, OLD,
        "the balancer's draw was not taken over"
    );
    let mut elsewhere = Client::new(of(NEW));
    elsewhere.cookie.clone_from(&client.cookie);
    let reply = elsewhere.post("/step", Some(&first.state)).await;
    assert_eq!(
        reply.status,
        StatusCode::MISDIRECTED_REQUEST,
        "{}",
        reply.body
    );
    assert_eq!(reply.headers["affinity-misdirected"], "1");
    assert_eq!(
        elsewhere.cookie, client.cookie,
        "the refusal touched the pin"
    );
    client.post("/step", Some(&first.state)).await.answer();
}

#[tokio::test]
async fn a_process_refuses_what_was_meant_for_another_commit() {
    let rollouts = rollouts();
    for (meant, status) in [
        (OLD, StatusCode::OK),
        (NEW, StatusCode::MISDIRECTED_REQUEST),
    ] {
        let mut client = Client::new(process(&rollouts, OLD));
        let start = Request::post("/start").header("affinity-group", meant);
        let reply = client.send(start, Body::empty()).await;
        assert_eq!(reply.status, status, "meant for {meant}: {}", reply.body);
        let served = status == StatusCode::OK;
        assert_eq!(client.cookie.is_some(), served, "a session of {meant}");
        let marked = reply.headers.contains_key("affinity-misdirected");
        assert_eq!(marked, !served, "meant for {meant}");
    }
    let everywhere = app(layer(&rollouts).build().unwrap(), None);
    let start = Request::post("/start").header("affinity-group", OLD);
    let reply = Client::new(everywhere).send(start, Body::empty()).await;
    assert_eq!(reply.status, StatusCode::OK, "a process of all commits");
}

#[tokio::test]
async fn a_scope_drawn_by_address_gets_the_address_of_the_connection() {
    let rollouts = rollouts();
    weigh_evenly(&rollouts);
    let scope = Scope::new(PathPattern::all()).assign(AssignBy::Address);
    let app = app(layer(&rollouts).scope(scope).build().unwrap(), None);
    let mut commits = HashSet::new();
    for _ in 0..32 {
        let reply = Client::new(app.clone()).post("/start", None).await;
        commits.insert(reply.answer().state.commit);
    }
    assert_eq!(commits.len(), 1, "sessions of one address were drawn apart");
}
