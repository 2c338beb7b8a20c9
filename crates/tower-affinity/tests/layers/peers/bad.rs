//! Peers that are down, that are somebody else, and setups that cannot work.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Response;
use tower_affinity::core::{AbortRequest, AlwaysReady, Clock};
use tower_affinity::peers::PeersError;
use tower_affinity::wire::{PathPattern, Scope};
use tower_affinity::{AffinityLayer, Groups, Keyring, PeerForwardLayer};
use tower_affinity_testing::{after, name};

use super::mesh::{Mesh, address, token, town};
use crate::support::{Body, K1};

#[tokio::test]
async fn a_peer_that_serves_another_group_is_left_for_one_that_serves_the_right_one() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    let stranger = mesh.process("C", 3, town());
    a.knows("B", &[3, 2]);
    for _ in 0..20 {
        let reply = a.get(&token("B", 7), &[]).await;
        assert_eq!(reply.served(), (200, "B"));
    }
    assert!(
        stranger.asked().is_empty(),
        "another commit served the session"
    );
    assert_eq!(b.asked().len(), 20);
}

#[tokio::test]
async fn a_session_is_refused_rather_than_served_by_another_group() {
    let mesh = Mesh::new();
    let a = mesh.process("A", 1, town());
    let strangers = [3, 4].map(|port| mesh.process("C", port, town()));
    a.knows("B", &[3, 4]);
    let reply = a.get(&token("B", 7), &[]).await;
    assert_eq!(reply.status, 503);
    assert!(
        reply.body.contains(r#""type":"wrong-group""#),
        "{}",
        reply.body
    );
    assert_eq!(reply.headers["retry-after"], "1");
    assert_eq!(reply.cookie(), None, "an answer of ours carries no pin");
    let marked = reply.headers.contains_key("affinity-misdirected");
    assert!(!marked, "the balancer would send it to yet another process");
    for process in strangers.iter().chain([&a]) {
        assert!(
            process.asked().is_empty(),
            "another commit served the session"
        );
    }
    let counted = a.counted("affinity_peer_requests_total");
    assert_eq!(counted, [("B failed".to_owned(), 1)]);
}

#[tokio::test]
async fn a_peer_that_is_down_is_left_for_another_and_without_one_the_group_is_not_ready() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    a.knows("B", &[9, 2]);
    for _ in 0..20 {
        assert_eq!(a.get(&token("B", 7), &[]).await.served(), (200, "B"));
    }
    assert_eq!(b.asked().len(), 20);
    mesh.goes_down(&b);
    let reply = a.get(&token("B", 7), &[]).await;
    assert_eq!(reply.status, 503);
    assert!(reply.body.contains("no-ready-endpoint"), "{}", reply.body);
    assert_eq!(reply.cookie(), None, "the pin is kept");
    assert!(a.asked().is_empty());
    mesh.listen(address(2), b.as_reach());
    a.knows("B", &[2]);
    mesh.clock.advance(std::time::Duration::from_secs(2));
    assert_eq!(a.get(&token("B", 7), &[]).await.served(), (200, "B"));
}

#[tokio::test]
async fn a_request_is_not_sent_again_to_a_commit_that_was_aborted_meanwhile() {
    let mesh = Mesh::new();
    let [a, _b] = mesh.two();
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, rollouts, now) = (Arc::clone(&asked), a.rollouts.clone(), mesh.clock.now());
    // says that it is somebody else, and while it does the commit is aborted
    let stranger: super::mesh::Reach = Arc::new(move |_| {
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            let request = AbortRequest::default();
            let aborted = rollouts.update(|rollout| {
                rollout.abort(&name("B"), &request, &AlwaysReady, after(rollout, now))
            });
            aborted.expect("the abort is allowed");
        }
        let answer = Response::builder().status(421);
        let answer = answer.header("affinity-misdirected", "1");
        Box::pin(ready(answer.body(Body::default()).unwrap()))
    });
    mesh.listen(address(3), &stranger);
    mesh.listen(address(4), &stranger);
    a.knows("B", &[3, 4]);
    let reply = a.get(&token("B", 7), &[]).await;
    assert_eq!(
        (reply.status.as_u16(), asked.load(Ordering::SeqCst)),
        (503, 1)
    );
    assert_eq!(a.get(&token("B", 7), &[]).await.served(), (200, "A"));
}

#[tokio::test]
async fn a_request_whose_client_goes_away_before_a_peer_answers_is_counted_as_that() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    let silent: super::mesh::Reach = Arc::new(|_| Box::pin(std::future::pending()));
    mesh.listen(b.address, &silent);
    let token = token("B", 7);
    let limit = std::time::Duration::from_millis(20);
    // as a timeout does that stands outside
    tokio::time::timeout(limit, a.get(&token, &[]))
        .await
        .unwrap_err();
    let counted = a.counted("affinity_peer_requests_total");
    assert_eq!(counted, [("B abandoned".to_owned(), 1)]);
    assert_eq!(a.peers.in_flight(&name("B")), 0, "it still has its place");
}

#[test]
fn a_layer_that_is_no_group_cannot_forward() {
    let layer = |serving: bool| {
        let builder = AffinityLayer::builder()
            .keyring(Keyring::parse(K1).unwrap())
            .service("checkout")
            .rollout(town())
            .scope(Scope::new(PathPattern::all()));
        let builder = match serving {
            true => builder.serving(name("A")),
            false => builder,
        };
        let affinity = builder.build().unwrap();
        PeerForwardLayer::new(affinity, Groups::default(), ()).map(|_| ())
    };
    assert_eq!(layer(true), Ok(()));
    assert_eq!(layer(false), Err(PeersError::NotServing));
}

#[test]
fn a_ring_with_a_key_that_only_verifies_cannot_forward() {
    // the public half of the second test of RFC 8032
    let public = "PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw";
    let ids = "Zk7vQ2mXc9RbT5nLh1WpJ8yUeG4dSa0oKiF6xVtM3Yw";
    let ring = format!("{K1},k9:ed25519-public:{public}");
    let affinity = AffinityLayer::builder()
        .keyring(Keyring::parse_with_id_secret(&ring, ids).unwrap())
        .service("checkout")
        .rollout(town())
        .serving(name("A"))
        .build()
        .unwrap();
    let refused = PeerForwardLayer::new(affinity, Groups::default(), ()).map(|_| ());
    assert_eq!(refused, Err(PeersError::VerifyingKey));
}
