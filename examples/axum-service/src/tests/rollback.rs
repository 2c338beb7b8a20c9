//! A rollback moves a session once, and the flow sees it until it has said so.

use super::client::{Client, NEW, OLD, abort_new, layer, rollouts};
use crate::app;

#[tokio::test]
async fn a_rollback_moves_a_session_once_and_its_flow_restarts() {
    let rollouts = rollouts();
    let mut client = Client::new(app(layer(&rollouts).build().unwrap(), None));
    let first = client.post("/start", None).await.answer();
    assert_eq!(first.state.commit, NEW);

    abort_new(&rollouts);
    let moved = client.post("/step", Some(&first.state)).await.answer();
    assert_eq!(moved.state.commit, OLD, "the aborted commit still serves");
    assert_eq!(moved.state.done, 0, "the flow did not begin anew");
    assert_eq!(moved.restarted_from.as_deref(), Some(NEW));
    assert_eq!(
        moved.session, first.session,
        "a move made another session of it"
    );

    let next = client.post("/step", Some(&moved.state)).await.answer();
    assert_eq!((next.state.commit.as_str(), next.state.done), (OLD, 1));
    assert_eq!(
        next.restarted_from, None,
        "the flow restarted twice for one move"
    );
}

#[tokio::test]
async fn a_move_is_told_until_the_flow_has_seen_it() {
    let rollouts = rollouts();
    let mut client = Client::new(app(layer(&rollouts).build().unwrap(), None));
    client.post("/start", None).await.answer();
    abort_new(&rollouts);
    // the greeting does not care, so the moved session stays untold
    for _ in 0..2 {
        assert!(client.get("/").await.body.starts_with("session "));
    }
    let told = client.post("/start", None).await.answer();
    assert_eq!(told.restarted_from.as_deref(), Some(NEW));
    let after = client.post("/start", None).await.answer();
    assert_eq!(after.restarted_from, None, "told again after it was seen");
}
