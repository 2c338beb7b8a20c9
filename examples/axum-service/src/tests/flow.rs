//! A whole flow on one commit.

use axum::http::StatusCode;

use super::client::{Client, NEW, OLD, layer, promote_old, rollouts};
use crate::{State, app};

#[tokio::test]
async fn a_session_goes_through_its_flow_on_one_commit_and_ends() {
    let mut client = Client::new(app(layer(&rollouts()).build().unwrap(), None));
    let first = client.post("/start", None).await.answer();
    assert_eq!(
        first.state.commit, NEW,
        "the handler sees the group drawn by weight"
    );
    let session = first.session.expect("a session began");
    let mut state = first.state;
    for done in 1..=3 {
        let next = client.post("/step", Some(&state)).await.answer();
        assert_eq!((next.state.commit.as_str(), next.state.done), (NEW, done));
        assert_eq!(next.session.as_ref(), Some(&session), "the session changed");
        state = next.state;
    }
    client.post("/finish", Some(&state)).await.answer();
    assert_eq!(
        client.cookie, None,
        "the pin was not cleared with the end of the flow"
    );
    let again = client.post("/start", None).await.answer();
    assert_ne!(again.session, Some(session), "the ended session came back");
}

#[tokio::test]
async fn a_promotion_moves_no_session_that_is_there() {
    let rollouts = rollouts();
    let app = app(layer(&rollouts).build().unwrap(), None);
    let mut client = Client::new(app.clone());
    let state = client.post("/start", None).await.answer().state;
    promote_old(&rollouts);
    let next = client.post("/step", Some(&state)).await.answer();
    assert_eq!(next.state.commit, NEW, "a draining commit lost a session");
    let other = Client::new(app).post("/start", None).await.answer();
    assert_eq!(
        other.state.commit, OLD,
        "a new session went to a draining commit"
    );
}

#[tokio::test]
async fn state_of_another_commit_is_refused() {
    let mut client = Client::new(app(layer(&rollouts()).build().unwrap(), None));
    let foreign = State {
        commit: OLD.to_owned(),
        done: 2,
    };
    let reply = client.post("/step", Some(&foreign)).await;
    assert_eq!(reply.status, StatusCode::CONFLICT, "{}", reply.body);
}

#[tokio::test]
async fn a_page_without_a_session_is_served_too() {
    let mut client = Client::new(app(layer(&rollouts()).build().unwrap(), None));
    let framed = axum::http::Request::get("/").header("sec-fetch-site", "cross-site");
    let reply = client.send(framed, axum::body::Body::empty()).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert!(reply.body.starts_with("no session"), "{}", reply.body);
    assert_eq!(client.cookie, None, "a withheld cookie was replaced");
    let reply = client.get("/").await;
    assert!(reply.body.starts_with("session "), "{}", reply.body);
}
