//! A process that is one of the groups, behind a balancer that knows no sessions.

use std::collections::HashSet;

use axum::http::StatusCode;
use tower_affinity::wire::{AssignBy, PathPattern, Scope};

use super::client::{Client, NEW, OLD, layer, rollouts, weigh_evenly};
use crate::app;

#[tokio::test]
async fn a_process_keeps_its_own_sessions_and_refuses_those_of_others() {
    let rollouts = rollouts();
    let of = |commit: &str| {
        app(layer(&rollouts)
            .serving(commit.parse().unwrap())
            .build()
            .unwrap())
    };
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
async fn a_scope_drawn_by_address_gets_the_address_of_the_connection() {
    let rollouts = rollouts();
    weigh_evenly(&rollouts);
    let scope = Scope::new(PathPattern::all()).assign(AssignBy::Address);
    let app = app(layer(&rollouts).scope(scope).build().unwrap());
    let mut commits = HashSet::new();
    for _ in 0..32 {
        let reply = Client::new(app.clone()).post("/start", None).await;
        commits.insert(reply.answer().state.commit);
    }
    assert_eq!(commits.len(), 1, "sessions of one address were drawn apart");
}
