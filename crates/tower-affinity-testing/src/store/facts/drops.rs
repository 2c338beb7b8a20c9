//! Whoever asks may leave before the answer.

use std::pin::pin as pinned;
use std::task::{Context, Waker};

use tower_affinity_core::StoreCall;

use crate::store::parts::{
    Links, by_name, by_session, claim, claimed, load, moved, pin, session, terms,
};

pub(in crate::store) async fn a_dropped_call_leaves_the_old_row_or_the_new(links: Links) {
    for nth in 0..32 {
        let (key, ours) = (by_name(nth), pin(nth, "a", 0));
        leave(links.one.claim(claim(key, &ours, 0)), nth);
        let stands = claimed(&*links.other, key, &pin(1_000, "b", 0), 0).await;
        // the one that was left may still be under way, but what is answered now stands
        assert_eq!(load(&*links.one, key, 0).await.as_ref(), Some(&stands));
        let of_ours = stands.session == ours.session;
        assert!(of_ours || stands.session == session(1_000), "{stands:?}");

        let next = moved(&stands, "c", 12, 60);
        leave(links.one.replace(key, next.clone(), terms(60)), nth);
        let left = load(&*links.one, key, 60).await.expect("a row stands");
        assert!(left == stands || left == next, "{left:?} is neither");
        let stands = links.one.replace(key, next.clone(), terms(60)).await;
        assert_eq!(stands.expect("it answers"), next);

        leave(links.one.remove(key, next.session), nth);
        let left = load(&*links.one, key, 60).await;
        assert!(
            left.is_none_or(|left| left == next),
            "it was removed or not"
        );
    }
}

pub(in crate::store) async fn dropped_calls_do_not_disturb_others(links: Links) {
    for nth in 0..128 {
        claimed(links.nth(nth), by_session(nth), &pin(nth, "a", 0), 0).await;
    }
    for nth in 0..128 {
        // every answer is to be that of its own question, also after questions without a listener
        leave(links.one.load(by_session((nth + 64) % 128), terms(1)), nth);
        let own = load(&*links.one, by_session(nth), 1).await;
        assert_eq!(own, Some(pin(nth, "a", 0)), "after {nth} dropped calls");
    }
}

/// Polls a call a few times, and drops it.
fn leave<T>(call: StoreCall<T>, nth: u64) {
    let mut call = pinned!(call);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..nth % 4 {
        if call.as_mut().poll(&mut context).is_ready() {
            break;
        }
    }
}
