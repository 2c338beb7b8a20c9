//! Live sessions are rows that have not ended, and nothing else.

use tower_affinity_core::{EndpointId, SessionPin};

use crate::store::parts::{
    ANSWERS, IDLE, Links, QUARTER, by_name, by_session, claimed, group, live, moved, pin, replaced,
    session,
};

pub(in crate::store) async fn rows_are_counted_by_group_and_endpoint(links: Links) {
    for nth in 0..60 {
        let endpoint = match nth % 3 {
            0 => Some("10.0.0.1:80"),
            1 => Some("10.0.0.2:80"),
            _ => None,
        };
        let group = if nth < 45 { "a" } else { "b" };
        let key = if nth % 2 == 0 {
            by_name(nth)
        } else {
            by_session(nth)
        };
        let pin = pin(nth, group, 0).at_endpoint(endpoint.map(EndpointId::new));
        claimed(links.nth(nth), key, &pin, 0).await;
    }
    for store in [&*links.one, &*links.other] {
        let live = live(store, 1).await;
        let (a, b) = (group("a"), group("b"));
        assert_eq!((live.of(&a), live.of(&b)), (45, 15));
        for (endpoint, at_a, at_b) in [("10.0.0.1:80", 15, 5), ("10.0.0.2:80", 15, 5)] {
            let endpoint = EndpointId::new(endpoint);
            assert_eq!(
                (live.at(&a, &endpoint), live.at(&b, &endpoint)),
                (at_a, at_b)
            );
        }
        assert_eq!(live.at(&a, &EndpointId::new("10.0.0.3:80")), 0);
    }
}

pub(in crate::store) async fn a_row_is_counted_once_however_often_it_is_used(links: Links) {
    let (key, first) = (by_session(1), pin(1, "a", 0));
    for now in (0..IDLE).step_by(100) {
        let stands = claimed(links.nth(now / 100), key, &first, now).await;
        let again = replaced(links.nth(now / 100 + 1), key, &stands, now).await;
        assert_eq!(again, stands);
        let live = live(&*links.one, now).await;
        assert_eq!(live.of(&group("a")), 1, "at {now} s");
    }
}

pub(in crate::store) async fn moves_and_removals_change_the_counts(links: Links) {
    let first = bound(pin(1, "a", 0), "10.0.0.1:80");
    claimed(&*links.one, by_session(1), &first, 0).await;
    claimed(&*links.one, by_name(2), &pin(2, "a", 0), 0).await;
    assert_eq!(counts(&links, 0).await, [2, 0, 1, 0]);
    let next = bound(moved(&first, "b", 12, 60), "10.0.0.2:80");
    replaced(&*links.other, by_session(1), &next, 60).await;
    assert_eq!(counts(&links, 60).await, [1, 1, 0, 1]);
    // a lost move changes nothing
    let lost = bound(moved(&first, "c", 12, 60), "10.0.0.1:80");
    replaced(&*links.one, by_session(1), &lost, 60).await;
    assert_eq!(counts(&links, 60).await, [1, 1, 0, 1]);
    // another endpoint of the same group
    let next = bound(next, "10.0.0.3:80");
    replaced(&*links.one, by_session(1), &next, 60).await;
    assert_eq!(counts(&links, 60).await, [1, 1, 0, 0]);
    for (key, nth) in [(by_session(1), 1), (by_name(2), 9), (by_name(2), 2)] {
        links.one.remove(key, session(nth)).await.expect(ANSWERS);
    }
    assert_eq!(counts(&links, 61).await, [0, 0, 0, 0]);
}

pub(in crate::store) async fn what_has_ended_is_not_counted(links: Links) {
    // of ten rows one is used once more
    for nth in 0..10 {
        claimed(&*links.one, by_session(nth), &pin(nth, "a", 0), 0).await;
    }
    claimed(&*links.other, by_session(3), &pin(3, "a", 0), QUARTER).await;
    for (now, expected) in [
        (QUARTER, 10),
        (IDLE - 1, 10),
        (IDLE, 1),
        (IDLE + QUARTER - 1, 1),
        (IDLE + QUARTER, 0),
    ] {
        for store in [&*links.one, &*links.other] {
            let live = live(store, now).await;
            assert_eq!(live.of(&group("a")), expected, "at {now} s");
        }
    }
}

pub(in crate::store) async fn an_heir_is_counted_in_place_of_what_ended(links: Links) {
    let key = by_name(1);
    claimed(&*links.one, key, &bound(pin(1, "a", 0), "10.0.0.1:80"), 0).await;
    // nothing was swept before
    let heir = bound(pin(2, "b", IDLE), "10.0.0.2:80");
    claimed(&*links.other, key, &heir, IDLE).await;
    assert_eq!(counts(&links, IDLE).await, [0, 1, 0, 1]);
    let heir = pin(3, "a", 2 * IDLE);
    replaced(&*links.other, key, &heir, 2 * IDLE).await;
    assert_eq!(counts(&links, 2 * IDLE).await, [1, 0, 0, 0]);
}

pub(in crate::store) async fn sessions_that_were_never_stored_count_nowhere(links: Links) {
    links
        .one
        .remove(by_session(1), session(1))
        .await
        .expect(ANSWERS);
    assert_eq!(counts(&links, 0).await, [0, 0, 0, 0]);
}

fn bound(pin: SessionPin, endpoint: &str) -> SessionPin {
    pin.at_endpoint(Some(EndpointId::new(endpoint)))
}

/// The sessions of a, of b, of a's first and of b's second endpoint.
async fn counts(links: &Links, now: u64) -> [u64; 4] {
    let live = live(&*links.one, now).await;
    let (a, b) = (group("a"), group("b"));
    let at = |group, endpoint| live.at(group, &EndpointId::new(endpoint));
    [
        live.of(&a),
        live.of(&b),
        at(&a, "10.0.0.1:80"),
        at(&b, "10.0.0.2:80"),
    ]
}
