//! Whose row is whose.

use tower_affinity_core::PinStore;

use crate::store::parts::{
    ANSWERS, Links, by_name, by_session, claimed, load, pin, replaced, session,
};

pub(in crate::store) async fn a_removed_row_is_gone(links: Links) {
    for key in [by_session(1), by_name(1)] {
        claimed(&*links.one, key, &pin(1, "a", 0), 0).await;
        remove(&*links.other, key, 1).await;
        assert_eq!(load(&*links.one, key, 0).await, None);
        // what is gone can be removed, and begun anew
        remove(&*links.one, key, 1).await;
        let next = pin(1, "b", 1);
        assert_eq!(claimed(&*links.other, key, &next, 1).await, next);
    }
}

pub(in crate::store) async fn a_removal_leaves_the_row_of_another_session(links: Links) {
    let (key, first) = (by_name(1), pin(1, "a", 0));
    claimed(&*links.one, key, &first, 0).await;
    remove(&*links.other, key, 2).await;
    assert_eq!(load(&*links.one, key, 0).await, Some(first));
}

pub(in crate::store) async fn sessions_and_names_never_collide(links: Links) {
    // the same bits in both
    let (own, named) = (pin(1, "a", 0), pin(2, "b", 0));
    assert_eq!(claimed(&*links.one, by_session(1), &own, 0).await, own);
    assert_eq!(claimed(&*links.one, by_name(1), &named, 0).await, named);
    let own = own.released();
    assert_eq!(replaced(&*links.other, by_session(1), &own, 0).await, own);
    assert_eq!(load(&*links.one, by_name(1), 0).await, Some(named));
    remove(&*links.other, by_name(1), 2).await;
    assert_eq!(load(&*links.one, by_session(1), 0).await, Some(own));
}

pub(in crate::store) async fn places_do_not_see_each_other(here: Links, there: Links) {
    let (key, first) = (by_session(1), pin(1, "a", 0));
    claimed(&*here.one, key, &first, 0).await;
    assert_eq!(load(&*there.one, key, 0).await, None);
    remove(&*there.other, key, 1).await;
    assert_eq!(load(&*here.other, key, 0).await, Some(first));
}

async fn remove(store: &dyn PinStore, key: tower_affinity_core::RowKey, nth: u64) {
    store.remove(key, session(nth)).await.expect(ANSWERS);
}
