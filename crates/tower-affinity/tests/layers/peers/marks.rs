//! The mark of one hop: taken from peers, and nothing that a client can use.

use std::time::Duration;

use tower_affinity::core::{
    Cause, Cohort, Decision, GroupId, Kind, Lifetimes, MAX_HOP, PinCodec, Revision, SessionId,
    SessionPin, Timestamp,
};
use tower_affinity_testing::{START, name};

use super::mesh::{Mesh, ask, service, token, town};
use crate::support::{K1, K2, codec};

/// What a peer has decided for session 9 of `group`.
fn decided(group: &str) -> Decision {
    let (id, now) = (GroupId::new(name(group), 1), Timestamp::from_secs(START));
    let session = SessionId::from_random(9);
    let pin = SessionPin::new(session, id.clone(), Revision(10), now, Lifetimes::default());
    Decision {
        kind: Kind::Pinned,
        cause: Cause::Ok,
        group: Some(id),
        pin: Some(pin),
        issue: false,
        cohort: Cohort::Established,
        endpoint_key: None,
    }
}

fn mark(by: &PinCodec, group: &str, made: u64) -> String {
    let made = Timestamp::from_secs(made);
    by.seal_hop(&decided(group), made).unwrap()
}

#[tokio::test]
async fn a_mark_that_no_peer_has_made_is_removed_counted_and_chooses_nothing() {
    let unsigned = {
        let mark = mark(&service(), "A", START);
        let (message, _) = mark.rsplit_once('.').unwrap();
        format!("{message}.")
    };
    let altered = {
        let other = mark(&service(), "B", START);
        let own = mark(&service(), "A", START);
        // the claims of one under the signature of the other
        let claims = other.split('.').nth(1).unwrap();
        let parts: Vec<&str> = own.split('.').collect();
        format!("{}.{claims}.{}", parts[0], parts[2])
    };
    let override_token = {
        let (id, now) = (GroupId::new(name("A"), 1), Timestamp::from_secs(START));
        service()
            .seal_override(&id, Duration::from_secs(60), false, now)
            .unwrap()
    };
    for (row, sent, cause) in [
        ("empty", String::new(), "malformed"),
        ("words", "yes please".to_owned(), "malformed"),
        ("unsigned", unsigned, "bad_signature"),
        ("altered", altered, "bad_signature"),
        (
            "another service's",
            mark(&codec("billing", K1), "A", START),
            "wrong_audience",
        ),
        (
            "another ring's",
            mark(&codec("checkout", K2), "A", START),
            "unknown_key",
        ),
        ("expired", mark(&service(), "A", START - 360), "expired_max"),
        (
            "from the future",
            mark(&service(), "A", START + 301),
            "from_future",
        ),
        ("a pin", token("A", 9), "wrong_type"),
        ("an override", override_token, "wrong_type"),
        ("far too long", "x".repeat(MAX_HOP + 1), "oversize"),
    ] {
        let mesh = Mesh::new();
        let [a, b] = mesh.two();
        let reply = a.get(&token("A", 7), &[("affinity-hop", &sent)]).await;
        assert_eq!(reply.served(), (200, "A"), "{row}");
        let asked = a.asked();
        assert_eq!(asked[0].session, Some(SessionId::from_random(7)), "{row}");
        assert!(
            !asked[0].headers.contains_key("affinity-hop"),
            "{row}: it passed"
        );
        let counted = a.counted("affinity_hops_rejected_total");
        assert_eq!(counted, [(cause.to_owned(), 1)], "{row}");
        // it has come over one hop, as far as anybody can tell: it goes over no second one
        let reply = a.get(&token("B", 7), &[("affinity-hop", &sent)]).await;
        assert_eq!(reply.status, 421, "{row}");
        assert_eq!(reply.headers["affinity-misdirected"], "1", "{row}");
        assert_eq!(reply.cookie(), None, "{row}: the pin is kept");
        // who has marked it has taken its pin off: no other session begins in its place
        let reply = a.send(ask(&[("affinity-hop", &sent)])).await;
        assert_eq!(
            (reply.status.as_u16(), reply.cookie()),
            (421, None),
            "{row}"
        );
        assert!(a.asked().is_empty() && b.asked().is_empty(), "{row}");
    }
}

#[tokio::test]
async fn of_two_marks_neither_counts() {
    let mesh = Mesh::new();
    let [a, _b] = mesh.two();
    let mark = mark(&service(), "A", START);
    let marks = [("affinity-hop", &*mark), ("affinity-hop", &*mark)];
    let reply = a.get(&token("A", 7), &marks).await;
    assert_eq!(reply.served(), (200, "A"));
    assert_eq!(a.asked()[0].session, Some(SessionId::from_random(7)));
    let counted = a.counted("affinity_hops_rejected_total");
    assert_eq!(counted, [("duplicates".to_owned(), 1)]);
}

#[tokio::test]
async fn a_mark_for_another_group_is_answered_421_and_nobody_is_asked() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    let mark = mark(&service(), "B", START);
    let reply = a.get(&token("A", 7), &[("affinity-hop", &mark)]).await;
    assert_eq!(reply.status, 421);
    assert_eq!(reply.headers["affinity-misdirected"], "1");
    assert_eq!(reply.cookie(), None, "the pin is not ours to touch");
    assert!(a.asked().is_empty() && b.asked().is_empty());
    let counted = a.counted("affinity_peer_requests_total");
    assert_eq!(counted, [("A misdirected".to_owned(), 1)]);
}

#[tokio::test]
async fn a_mark_that_is_sent_again_with_another_cookie_chooses_nothing_but_its_own_session() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    let mark = mark(&service(), "A", START);
    for later in [0, 59, 300] {
        mesh.clock.set(Timestamp::from_secs(START + later));
        let reply = a.get(&token("B", 7), &[("affinity-hop", &mark)]).await;
        assert_eq!(reply.served(), (200, "A"), "{later} s later");
        assert_eq!(reply.cookie(), None, "a mark made a pin");
        let asked = a.asked();
        assert_eq!(asked[0].session, Some(SessionId::from_random(9)));
        assert!(!asked[0].headers.contains_key("cookie"), "the pin passed");
    }
    mesh.clock.set(Timestamp::from_secs(START + 360));
    let reply = a.get(&token("B", 7), &[("affinity-hop", &mark)]).await;
    assert_eq!(
        reply.status, 421,
        "the mark is over, and the request has had its hop"
    );
    assert!(a.asked().is_empty() && b.asked().is_empty());
}

#[tokio::test]
async fn a_mark_reaches_neither_an_application_nor_a_client() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    b.says(super::mesh::Says {
        headers: vec![("affinity-hop", "made-by-the-application")],
        ..Default::default()
    });
    let reply = a.get(&token("B", 7), &[]).await;
    assert_eq!(reply.served(), (200, "B"));
    assert!(!reply.headers.contains_key("affinity-hop"));
    assert!(!b.asked()[0].headers.contains_key("affinity-hop"));
}

#[tokio::test]
async fn a_layer_that_is_no_group_removes_marks_and_takes_none() {
    let site = crate::support::Site::new();
    let mark = mark(&service(), "B", START);
    let seen = site.get(&[("affinity-hop", &mark)]);
    assert!(seen.said().starts_with("assigned/new@"), "{}", seen.said());
    assert!(seen.forwarded("affinity-hop").is_empty());
    let mesh = Mesh::new();
    let lonely = mesh.lonely("B", 2, town());
    let reply = lonely.send(ask(&[("affinity-hop", &mark)])).await;
    assert_eq!((reply.served(), reply.cookie()), ((200, "B"), None));
    assert_eq!(lonely.asked()[0].session, Some(SessionId::from_random(9)));
}

#[tokio::test]
async fn a_mark_for_a_group_that_is_aborted_here_is_not_served() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    b.abort(&mesh.clock, "B");
    // A has not heard of it yet
    let reply = a.get(&token("B", 7), &[]).await;
    assert_eq!(reply.status, 503);
    assert!(reply.body.contains("state-behind"), "{}", reply.body);
    assert_eq!(reply.headers["retry-after"], "1");
    assert_eq!(reply.cookie(), None, "the pin is kept");
    assert!(a.asked().is_empty() && b.asked().is_empty());
}
