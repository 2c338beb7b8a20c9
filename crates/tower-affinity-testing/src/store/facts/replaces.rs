//! A replacement is a compare-and-set by order.

use tower_affinity_core::{EndpointId, Lifetimes, PinStore, SessionPin};

use crate::store::parts::{
    AGE, IDLE, Links, at, by_name, by_session, claimed, group, load, moved, pin, replaced, terms,
};

pub(in crate::store) async fn a_replacement_of_nothing_is_stored(links: Links) {
    let (key, first) = (by_session(1), pin(1, "a", 0));
    assert_eq!(replaced(&*links.one, key, &first, 0).await, first);
    assert_eq!(load(&*links.other, key, 0).await, Some(first));
}

pub(in crate::store) async fn a_later_pin_takes_the_place(links: Links) {
    let (key, first) = (by_session(1), pin(1, "a", 0));
    claimed(&*links.one, key, &first, 0).await;
    let mut pin = first;
    for nth in 1..12 {
        pin = moved(&pin, &format!("g{nth}"), 10 + nth, nth * 60);
        let stands = replaced(links.nth(nth), key, &pin, nth * 60).await;
        assert_eq!(stands, pin, "move {nth}");
        assert_eq!(load(&*links.one, key, nth * 60).await.as_ref(), Some(&pin));
    }
    let renewed = pin.renewed(pin.revision, at(IDLE), Lifetimes::default());
    assert_eq!(replaced(&*links.other, key, &renewed, IDLE).await, renewed);
    assert_eq!(load(&*links.one, key, IDLE).await, Some(renewed));
}

pub(in crate::store) async fn an_older_pin_never_does_and_hears_of_the_winner(links: Links) {
    let (key, first) = (by_session(1), pin(1, "a", 0));
    let winner = moved(&first, "b", 12, 60);
    replaced(&*links.one, key, &winner, 60).await;
    let fewer = moved(&first, "c", 11, 61);
    for older in [first, fewer] {
        let stands = replaced(&*links.other, key, &older, 61).await;
        assert_eq!(stands, winner, "replaced by the older {older:?}");
        assert_eq!(load(&*links.one, key, 61).await.as_ref(), Some(&winner));
    }
}

pub(in crate::store) async fn revision_moves_and_issue_decide_in_this_order(links: Links) {
    // numbers of different length, which texts would order wrongly
    let with = |revision: u64, moves: u32, issued: u64| SessionPin {
        revision: tower_affinity_core::Revision(revision),
        moves,
        issued: at(issued),
        ..pin(1, "a", 0)
    };
    for (nth, lesser, greater) in [
        (1, with(9, 0, 0), with(10, 0, 0)),
        (2, with(99, 0, 0), with(100, 0, 0)),
        (3, with(9, 11, 99), with(10, 2, 0)),
        (4, with(10, 9, 0), with(10, 10, 0)),
        (5, with(10, 9, 99), with(10, 10, 0)),
        (6, with(10, 1, 99), with(10, 1, 100)),
    ] {
        let key = by_name(nth);
        replaced(&*links.one, key, &lesser, 100).await;
        let stands = replaced(&*links.other, key, &greater, 100).await;
        assert_eq!(stands, greater, "pair {nth}: the greater came second");
        let stands = replaced(&*links.one, key, &lesser, 100).await;
        assert_eq!(stands, greater, "pair {nth}: the lesser came again");
    }
}

pub(in crate::store) async fn of_two_moves_in_one_second_the_first_stands(links: Links) {
    let (key, first) = (by_session(1), pin(1, "a", 0));
    claimed(&*links.one, key, &first, 0).await;
    let winner = moved(&first, "b", 12, 60);
    let loser = moved(&first, "c", 12, 60);
    assert_eq!(replaced(&*links.one, key, &winner, 60).await, winner);
    let stands = replaced(&*links.other, key, &loser, 60).await;
    assert_eq!(stands, winner, "two moves in one second");
    assert_eq!(load(&*links.one, key, 60).await, Some(winner));
}

pub(in crate::store) async fn an_equally_late_pin_of_the_same_group_takes_the_place(links: Links) {
    let (key, first) = (by_session(1), pin(1, "a", 0));
    claimed(&*links.one, key, &first, 0).await;
    for added in [
        first.clone().released(),
        first.at_endpoint(Some(EndpointId::new("10.0.0.1:80"))),
    ] {
        let stands = replaced(&*links.other, key, &added, 0).await;
        assert_eq!(stands, added, "an answer has added something");
        assert_eq!(load(&*links.one, key, 0).await, Some(added));
    }
}

pub(in crate::store) async fn an_expiry_is_never_lowered(links: Links) {
    let (key, first) = (by_session(1), pin(1, "a", 0));
    let stream = first.clone().streaming(Lifetimes::default());
    replaced(&*links.one, key, &stream, 0).await;
    // whoever moves the session has not seen that a stream is open
    let moved = moved(&first, "b", 12, 60);
    assert!(moved.expires < stream.expires);
    let stands = replaced(&*links.other, key, &moved, 60).await;
    assert_eq!(stands.group, moved.group);
    for now in [60, IDLE + 60, AGE - 1] {
        let stands = load(&*links.one, key, now).await;
        let told = stands.map(|pin| (pin.group, pin.moves, pin.expires));
        let expected = (moved.group.clone(), moved.moves, stream.expires);
        assert_eq!(told, Some(expected), "at {now} s");
    }
    // nor by a touch of another replica
    let touched = claimed(&*links.other, key, &first, IDLE).await;
    assert!(touched.expires >= stream.expires, "{touched:?}");
}

pub(in crate::store) async fn another_session_stands(links: Links) {
    let (key, first) = (by_name(1), pin(1, "a", 0));
    claimed(&*links.one, key, &first, 0).await;
    let stranger = moved(&pin(2, "b", 0), "c", 99, 60);
    assert_eq!(replaced(&*links.other, key, &stranger, 60).await, first);
    assert_eq!(load(&*links.one, key, 60).await, Some(first));
}

pub(in crate::store) async fn of_parallel_moves_one_stands_and_all_hear_of_it(links: Links) {
    for round in 0..16 {
        let (key, first) = (by_session(round), pin(round, "a", 0));
        claimed(&*links.one, key, &first, 0).await;
        let asks = (0..32).map(|nth| {
            let pin = moved(&first, &format!("g{nth}"), 12, 60);
            move |store: &dyn PinStore| store.replace(key, pin, terms(60))
        });
        let answers = links.race(asks).await;
        let stands = load(&*links.other, key, 60).await;
        let stands = stands.expect("it was moved");
        assert_ne!(stands.group.known(), Some(&group("a")));
        for answer in answers {
            assert_eq!(answer, stands, "not all heard of the same winner");
        }
    }
}

pub(in crate::store) async fn of_parallel_replacements_the_greatest_stands(links: Links) {
    for round in 0..16 {
        let (key, first) = (by_session(round), pin(round, "a", 0));
        claimed(&*links.one, key, &first, 0).await;
        let pins: Vec<_> = (0..32)
            .map(|nth| moved(&first, &format!("g{nth}"), 11 + (nth * 7 + round) % 32, 60))
            .collect();
        let asks = pins
            .clone()
            .into_iter()
            .map(|pin| move |store: &dyn PinStore| store.replace(key, pin, terms(60)));
        let answers = links.race(asks).await;
        for (pin, answer) in pins.iter().zip(answers) {
            let is_late = answer == *pin || !pin.supersedes(&answer);
            assert!(is_late, "{pin:?} was answered the older {answer:?}");
        }
        let stands = load(&*links.one, key, 60).await;
        let revision = stands.map(|pin| pin.revision.0);
        assert_eq!(revision, Some(42), "a lesser one stands in the end");
    }
}
