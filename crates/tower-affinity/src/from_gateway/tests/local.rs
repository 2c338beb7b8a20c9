//! The state of a session in the process, where a gateway tells of its moves.

use tower_affinity_core::Lifetimes;

use super::support::{GATEWAY, SESSION, gateways, pinned, request, send};
use crate::{Affinity, FromGatewayLayer, LocalSessions};

const MOVED_FROM: (&str, &str) = (
    "affinity-moved-from",
    "c3d4e5f; at=1800000000; cause=aborted",
);

fn drafts() -> LocalSessions<&'static str> {
    LocalSessions::builder(Lifetimes::default())
        .build()
        .unwrap()
}

async fn told(headers: &[(&'static str, &str)]) -> Affinity {
    let layer = FromGatewayLayer::new(gateways());
    let seen = send(layer, request(Some(GATEWAY), headers)).await;
    seen.affinity.expect("what a gateway has told")
}

/// A request whose session is here for longer.
async fn stays() -> Affinity {
    told(&pinned()).await
}

/// One that has come from another group, or another endpoint.
async fn comes(decision: &'static str) -> Affinity {
    let group_and_session = [("affinity-group", "9f1c2ab"), ("affinity-session", SESSION)];
    let decided = ("affinity-decision", decision);
    told(&[&group_and_session[..], &[decided, MOVED_FROM]].concat()).await
}

fn found(drafts: &LocalSessions<&'static str>, affinity: &Affinity) -> Option<&'static str> {
    let place = drafts.of(affinity).expect("a session has a place");
    place.get().map(|draft| *draft)
}

#[tokio::test]
async fn what_is_written_while_a_move_is_told_is_there_when_it_is_not_told_any_more() {
    let drafts = drafts();
    let moved = comes("moved; cause=aborted").await;
    drafts.of(&moved).unwrap().insert("of the move");
    let still_told = told(&[&pinned()[..], &[MOVED_FROM]].concat()).await;
    assert_eq!(found(&drafts, &still_told), Some("of the move"));
    assert_eq!(found(&drafts, &stays().await), Some("of the move"));
}

#[tokio::test]
async fn a_session_that_comes_back_finds_nothing_of_its_former_stay() {
    for decision in ["moved; cause=aborted", "pinned; cause=endpoint_lost"] {
        let drafts = drafts();
        drafts.of(&stays().await).unwrap().insert("before");
        assert_eq!(found(&drafts, &stays().await), Some("before"), "{decision}");
        let back = comes(decision).await;
        assert_eq!(found(&drafts, &back), None, "{decision}");
        assert!(drafts.is_empty(), "{decision}: it still takes room");
    }
}

#[tokio::test]
async fn a_request_that_moves_its_session_keeps_what_it_writes_itself() {
    let rooms = [drafts(), drafts()];
    let before = stays().await;
    let moved = comes("moved; cause=aborted").await;
    for room in &rooms {
        room.of(&before).unwrap().insert("before");
        assert_eq!(found(room, &moved), None, "of the former stay");
        room.of(&moved).unwrap().insert("its own");
        assert_eq!(found(room, &moved), Some("its own"), "emptied twice");
    }
}

#[tokio::test]
async fn what_a_later_request_has_written_is_not_emptied_by_the_move_before_it() {
    let drafts = drafts();
    let moved = comes("moved; cause=aborted").await;
    drafts.of(&stays().await).unwrap().insert("after the move");
    assert_eq!(found(&drafts, &moved), Some("after the move"));
}
