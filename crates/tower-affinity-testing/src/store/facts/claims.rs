//! What a claim stores and answers.

use tower_affinity_core::{Lifetimes, SessionPin};

use crate::store::parts::{
    AGE, IDLE, Links, QUARTER, at, by_name, by_session, claim, claimed, full, load, moved, pin,
    session,
};

pub(in crate::store) async fn a_row_is_read_by_all_as_it_was_claimed(links: Links) {
    for (nth, pin) in [(1, pin(1, "a", 0)), (2, full(2))] {
        for key in [by_session(nth), by_name(nth)] {
            assert_eq!(load(&*links.one, key, 0).await, None, "before its claim");
            assert_eq!(claimed(&*links.one, key, &pin, 0).await, pin);
            assert_eq!(load(&*links.one, key, 0).await.as_ref(), Some(&pin));
            assert_eq!(load(&*links.other, key, 1).await.as_ref(), Some(&pin));
        }
    }
}

pub(in crate::store) async fn the_first_claim_wins(links: Links) {
    let first = pin(1, "a", 0);
    claimed(&*links.one, by_name(1), &first, 0).await;
    for (nth, group) in [(2, "b"), (3, "a"), (4, "c")] {
        let late = pin(nth, group, nth);
        let standing = claimed(links.nth(nth), by_name(1), &late, nth).await;
        assert_eq!(standing, first, "claimed by another one later");
    }
    // also over a later pin of the same session: a move is a replacement
    let later = moved(&first, "b", 12, 5);
    assert_eq!(claimed(&*links.other, by_name(1), &later, 5).await, first);
    assert_eq!(load(&*links.other, by_name(1), 5).await, Some(first));
}

pub(in crate::store) async fn of_many_parallel_claims_one_wins(links: Links) {
    for round in 0..16 {
        let key = by_name(round);
        let pins = (0..RACERS).map(|nth| pin(1_000 + nth, &format!("g{nth}"), 0));
        let asks = pins.map(|pin| {
            move |store: &dyn tower_affinity_core::PinStore| store.claim(claim(key, &pin, 0))
        });
        let answers = links.race(asks).await;
        let stands = load(&*links.one, key, 0).await;
        let stands = stands.expect("somebody has won");
        for answer in answers {
            assert_eq!(answer, stands, "not all heard of the same winner");
        }
    }
}

pub(in crate::store) async fn a_standing_row_is_touched_once_per_quarter(links: Links) {
    let (key, first) = (by_session(1), pin(1, "a", 0));
    claimed(&*links.one, key, &first, 0).await;
    let mut issued = 0;
    for now in (0..2 * IDLE).step_by(50) {
        if now - issued >= QUARTER {
            issued = now;
        }
        let standing = claimed(links.nth(now / 50), key, &first, now).await;
        assert_eq!(standing.issued, at(issued), "claimed at {now} s");
        assert_eq!(standing.expires, at(issued + IDLE), "claimed at {now} s");
        // what was answered is what is kept
        assert_eq!(load(&*links.one, key, now).await, Some(standing));
    }
    assert!(issued > IDLE, "it lives by its touches alone");
    // reading is no use: nothing is written
    let last = issued + IDLE - 1;
    let untouched = load(&*links.one, key, last).await;
    assert_eq!(untouched.map(|pin| pin.issued), Some(at(issued)));
}

pub(in crate::store) async fn of_parallel_touches_one_is_enough(links: Links) {
    let (key, first) = (by_session(1), pin(1, "a", 0));
    claimed(&*links.one, key, &first, 0).await;
    let asks = (0..RACERS).map(|_| {
        let claim = claim(key, &first, QUARTER + 7);
        |store: &dyn tower_affinity_core::PinStore| store.claim(claim)
    });
    for answer in links.race(asks).await {
        assert_eq!(answer.issued, at(QUARTER + 7));
        assert_eq!(answer.session, session(1));
    }
}

pub(in crate::store) async fn a_touch_changes_nothing_else(links: Links) {
    let (key, first) = (by_session(1), full(1));
    claimed(&*links.one, key, &first, 0).await;
    let later = first.renewed(first.revision, at(QUARTER), Lifetimes::default());
    let touched = claimed(&*links.other, key, &pin(1, "c", QUARTER), QUARTER).await;
    let expected = SessionPin {
        issued: at(QUARTER),
        expires: at(QUARTER + IDLE).min(at(AGE)),
        ..first
    };
    assert_eq!(touched, expected);
    assert_eq!(touched, later);
    assert_eq!(load(&*links.one, key, QUARTER).await, Some(expected));
}

/// How many ask at once.
const RACERS: u64 = 64;
