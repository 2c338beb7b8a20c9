//! When a row is over, whatever was swept.

use tower_affinity_core::{Lifetimes, PinStore, Terms};

use crate::store::parts::{
    AGE, ANSWERS, IDLE, Links, QUARTER, at, by_name, by_session, claim, claimed, load, pin,
    replaced, secs,
};

pub(in crate::store) async fn a_row_ends_whatever_was_swept(links: Links) {
    let (key, first) = (by_session(1), pin(1, "a", 0));
    claimed(&*links.one, key, &first, 0).await;
    let last = load(&*links.other, key, IDLE - 1).await;
    assert_eq!(last.as_ref(), Some(&first), "a second before its end");
    for now in [IDLE, IDLE + 1, IDLE * 100] {
        assert_eq!(load(&*links.one, key, now).await, None, "at {now} s");
    }
}

pub(in crate::store) async fn an_ended_row_is_claimed_as_if_it_were_absent(links: Links) {
    let key = by_name(1);
    claimed(&*links.one, key, &pin(1, "a", 0), 0).await;
    let heir = pin(2, "b", IDLE);
    assert_eq!(claimed(&*links.other, key, &heir, IDLE).await, heir);
    assert_eq!(load(&*links.one, key, IDLE).await, Some(heir));
}

pub(in crate::store) async fn an_ended_row_is_replaced_by_any_session(links: Links) {
    let key = by_name(1);
    claimed(&*links.one, key, &pin(1, "a", 0), 0).await;
    let heir = pin(2, "b", IDLE);
    assert_eq!(replaced(&*links.other, key, &heir, IDLE).await, heir);
    assert_eq!(load(&*links.one, key, IDLE).await, Some(heir));
}

pub(in crate::store) async fn of_many_claims_of_an_ended_row_one_wins(links: Links) {
    let key = by_name(1);
    claimed(&*links.one, key, &pin(1, "a", 0), 0).await;
    let asks = (10..42).map(|nth| {
        let claim = claim(key, &pin(nth, "b", IDLE), IDLE);
        |store: &dyn PinStore| store.claim(claim)
    });
    let answers = links.race(asks).await;
    let stands = load(&*links.one, key, IDLE).await;
    let stands = stands.expect("somebody has won");
    for answer in answers {
        assert_eq!(answer, stands, "not all heard of the same winner");
    }
}

pub(in crate::store) async fn the_age_of_a_session_wins_over_its_touches(links: Links) {
    let (key, first) = (by_session(1), pin(1, "a", 0));
    let steps = (0..AGE).step_by(QUARTER as usize);
    for now in steps {
        let standing = claimed(links.nth(now / QUARTER), key, &first, now).await;
        assert!(standing.expires <= at(AGE), "claimed at {now} s");
        assert_eq!(standing.started, at(0), "claimed at {now} s");
    }
    assert!(
        load(&*links.one, key, AGE - 1).await.is_some(),
        "its last second"
    );
    assert_eq!(load(&*links.one, key, AGE).await, None);
    let next = pin(1, "b", AGE);
    assert_eq!(claimed(&*links.other, key, &next, AGE).await, next);
}

pub(in crate::store) async fn the_age_as_configured_now_decides(links: Links) {
    let (key, first) = (by_name(1), pin(1, "a", 0));
    claimed(&*links.one, key, &first, 0).await;
    let lifetimes = Lifetimes::new(secs(60), secs(600)).expect("lifetimes");
    let short = |now| Terms {
        now: at(now),
        lifetimes,
    };
    let store = &links.other;
    let before = store.load(key, short(599)).await.expect(ANSWERS);
    assert_eq!(before, Some(first), "it has its own expiry");
    let after = store.load(key, short(600)).await.expect(ANSWERS);
    assert_eq!(
        after, None,
        "it has its own expiry, but its session is over"
    );
    let mut claim = claim(key, &pin(2, "b", 600), 600);
    claim.terms = short(600);
    let heir = claim.pin.clone();
    assert_eq!(store.claim(claim).await.expect(ANSWERS), heir);
    assert_eq!(load(&*links.one, key, 600).await, Some(heir));
}
