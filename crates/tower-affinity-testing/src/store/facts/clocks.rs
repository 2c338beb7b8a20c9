//! Clocks that step, and clocks of other replicas.

use crate::store::parts::{
    IDLE, Links, QUARTER, at, by_name, by_session, claimed, load, moved, pin, replaced,
};

pub(in crate::store) async fn a_step_back_keeps_what_stands(links: Links) {
    let (key, first) = (by_session(1), pin(1, "a", 1_000));
    claimed(&*links.one, key, &first, 1_000).await;
    // less than what is forgiven of another replica's clock
    let stands = load(&*links.other, key, 1_000 - BACK).await;
    assert_eq!(stands.as_ref(), Some(&first));
    let stands = claimed(&*links.other, key, &first, 1_000 - BACK).await;
    assert_eq!(stands, first, "claimed by a clock that is behind");
    // a touch by a clock that is behind neither shortens nor goes back
    let touched = claimed(&*links.one, key, &first, 1_000 + QUARTER).await;
    let again = claimed(&*links.other, key, &first, 1_000 + QUARTER - BACK).await;
    assert_eq!(again, touched);
    let moved = moved(&touched, "b", 12, 1_000 + QUARTER - BACK);
    assert!(moved.issued >= touched.issued);
    let stands = replaced(&*links.other, key, &moved, 1_000 + QUARTER - BACK).await;
    assert_eq!(stands, moved);
}

pub(in crate::store) async fn a_step_back_does_not_raise_the_dead(links: Links) {
    let key = by_name(1);
    claimed(&*links.one, key, &pin(1, "a", 0), 0).await;
    let heir = pin(2, "b", IDLE);
    claimed(&*links.one, key, &heir, IDLE).await;
    for store in [&*links.one, &*links.other] {
        let stands = load(store, key, IDLE - BACK).await;
        assert_eq!(
            stands.as_ref(),
            Some(&heir),
            "the old row had not ended then"
        );
        let stands = claimed(store, key, &pin(1, "a", 0), IDLE - BACK).await;
        assert_eq!(stands, heir, "the old row had not ended then");
    }
}

pub(in crate::store) async fn a_row_of_a_far_future_is_absent_until_then(links: Links) {
    let (key, far) = (by_session(1), pin(1, "a", FAR));
    claimed(&*links.one, key, &far, FAR).await;
    assert_eq!(load(&*links.other, key, 0).await, None);
    let first = pin(1, "b", 0);
    assert_eq!(claimed(&*links.other, key, &first, 0).await, first);
    assert_eq!(load(&*links.one, key, 0).await.as_ref(), Some(&first));
    assert_eq!(first.issued, at(0));
}

/// A step that is smaller than what is forgiven of another replica's clock.
const BACK: u64 = 200;

/// A step that is greater.
const FAR: u64 = 1_000;
