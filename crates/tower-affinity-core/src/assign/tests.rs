//! The draw: its shares, what a changed weight moves, and that it is the same everywhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use super::{DrawKey, DrawSalt, draw, endpoint_rank};
use crate::fixtures::statistics::{chi_square, fresh};
use crate::fixtures::{View, active, after, at, endpoint, name, rollout, salt, service, weights};
use crate::{AlwaysReady, EndpointId, NewGroup, Readiness, Revision, Rollout};

/// The number of new sessions of a statistical test.
const SESSIONS: u64 = 20_000;

fn group_of(salt: &DrawSalt, key: DrawKey, rollout: &Rollout, ready: &dyn Readiness) -> String {
    draw(salt, key, rollout, ready).unwrap().name().to_string()
}

/// Where each of the sessions goes.
fn places(rollout: &Rollout) -> Vec<String> {
    let salt = salt();
    (0..SESSIONS)
        .map(|n| group_of(&salt, fresh(n), rollout, &AlwaysReady))
        .collect()
}

fn counts(places: &[String]) -> BTreeMap<&str, f64> {
    let mut counts = BTreeMap::new();
    for place in places {
        *counts.entry(place.as_str()).or_insert(0.0) += 1.0;
    }
    counts
}

/// 3.3·√(w(1−w)/N), in sessions.
fn check_shares(places: &[String], shares: &[(&str, u64)]) {
    let all: u64 = shares.iter().map(|(_, share)| share).sum();
    let sessions = places.len() as f64;
    let counts = counts(places);
    for (group, share) in shares {
        let share = *share as f64 / all as f64;
        let count = counts.get(group).copied().unwrap_or(0.0);
        let bound = 3.3 * (share * (1.0 - share) / sessions).sqrt() * sessions;
        let off = (count - share * sessions).abs();
        assert!(
            off <= bound,
            "{group} got {count} of {sessions}, {off} off its share {share}"
        );
    }
}

#[test]
fn shares_are_the_weights() {
    for shares in [
        &[("A", 90), ("B", 10)][..],
        &[("A", 1), ("B", 1)],
        &[("A", 99), ("B", 1)],
        &[("A", 9_999), ("B", 1)],
        &[("A", 50), ("B", 30), ("C", 20)],
        &[("A", 10_000), ("B", 10_000), ("C", 10_000)],
        &[("A", 1), ("B", 0), ("C", 3)],
        &[("A", 0), ("B", 7)],
        &[("A", 5), ("B", 10), ("C", 15), ("D", 20), ("E", 50)],
    ] {
        check_shares(&places(&rollout(shares)), shares);
    }
}

#[test]
fn named_keys_that_follow_a_pattern_are_shared_out_as_well() {
    let shares = [("A", 70), ("B", 30)];
    let rollout = rollout(&shares);
    let salt = salt();
    let user = |n: u64| salt.key(format!("user-{n}").as_bytes());
    let places: Vec<String> = (0..SESSIONS)
        .map(|n| group_of(&salt, user(n), &rollout, &AlwaysReady))
        .collect();
    check_shares(&places, &shares);
    let counted: Vec<String> = (0..SESSIONS)
        .map(|n| group_of(&salt, DrawKey(n.into()), &rollout, &AlwaysReady))
        .collect();
    check_shares(&counted, &shares);
}

#[test]
fn weight_zero_is_exactly_no_session() {
    let places = places(&rollout(&[("A", 0), ("B", 1), ("C", 0)]));
    assert!(
        places.iter().all(|place| place == "B"),
        "{:?}",
        counts(&places)
    );
}

#[test]
fn c086_the_share_of_a_small_group_is_its_weight_and_nothing_else() {
    let rollout = rollout(&[("A", 99), ("B", 1)]);
    let salt = salt();
    let on_b = (0..50_000)
        .filter(|n| group_of(&salt, fresh(*n), &rollout, &AlwaysReady) == "B")
        .count();
    assert!(
        (350..=650).contains(&on_b),
        "{on_b} of 50000 are not 1 % ± 0.3 %"
    );
}

fn moved(before: &[String], after: &[String]) -> Vec<(String, String)> {
    let pairs = before.iter().zip(after).filter(|(b, a)| b != a);
    pairs.map(|(b, a)| (b.clone(), a.clone())).collect()
}

#[test]
fn raising_one_weight_moves_keys_only_to_that_group() {
    let before = rollout(&[("A", 50), ("B", 10), ("C", 40)]);
    for share in [11, 20, 500] {
        let raised = before
            .weights(&weights(&[("B", share)]), after(&before, at(1)))
            .unwrap();
        let moves = moved(&places(&before), &places(&raised));
        assert!(!moves.is_empty(), "a raise to {share} moves nobody");
        assert!(
            moves.iter().all(|(_, to)| to == "B"),
            "raised to {share}: {moves:?}"
        );
    }
}

#[test]
fn lowering_one_weight_moves_keys_only_from_that_group() {
    let before = rollout(&[("A", 50), ("B", 10), ("C", 40)]);
    for share in [0, 5, 9] {
        let lowered = before
            .weights(&weights(&[("B", share)]), after(&before, at(1)))
            .unwrap();
        let moves = moved(&places(&before), &places(&lowered));
        assert!(
            moves.iter().all(|(from, _)| from == "B"),
            "lowered to {share}: {moves:?}"
        );
    }
}

#[test]
fn c035_a_raise_moves_no_more_than_the_new_share_asks_for() {
    let before = rollout(&[("A", 90), ("B", 10)]);
    let after = rollout(&[("A", 80), ("B", 20)]);
    let moves = moved(&places(&before), &places(&after)).len() as f64;
    let expected = 0.1 * SESSIONS as f64;
    let bound = 3.3 * (0.1 * 0.9 / SESSIONS as f64).sqrt() * SESSIONS as f64;
    assert!(
        (moves - expected).abs() <= bound,
        "{moves} moved, {expected} ± {bound} have to"
    );
}

#[test]
fn several_changed_weights_are_the_sum_of_single_changes() {
    let before = rollout(&[("A", 50), ("B", 10), ("C", 40)]);
    let one = before
        .weights(&weights(&[("A", 5)]), after(&before, at(1)))
        .unwrap();
    let two = one
        .weights(&weights(&[("B", 60)]), after(&one, at(1)))
        .unwrap();
    let both = before
        .weights(&weights(&[("A", 5), ("B", 60)]), after(&before, at(1)))
        .unwrap();
    assert_eq!(places(&two), places(&both));
}

#[test]
fn all_weights_times_the_same_number_change_nothing() {
    // also that a group of weight 0 more or less moves nobody (C090)
    let small = rollout(&[("A", 1), ("B", 2), ("C", 4)]);
    let great = rollout(&[("A", 1024), ("B", 2048), ("C", 4096)]);
    let more = rollout(&[("A", 1), ("B", 2), ("C", 4), ("D", 0)]);
    assert_eq!(places(&small), places(&great));
    assert_eq!(places(&small), places(&more));
}

#[test]
fn c105_the_order_of_the_groups_has_no_say() {
    let mut shares = vec![("A", 5), ("B", 10), ("C", 15), ("D", 20)];
    let expected = places(&rollout(&shares));
    for _ in 0..shares.len() {
        shares.rotate_left(1);
        assert_eq!(places(&rollout(&shares)), expected, "{shares:?}");
    }
    shares.reverse();
    assert_eq!(places(&rollout(&shares)), expected, "{shares:?}");
}

#[test]
fn only_what_is_active_and_ready_is_drawn() {
    let groups = [
        active("A", 10).stable(),
        active("B", 10),
        NewGroup::draining(name("C")),
        NewGroup::staged(name("D")),
        NewGroup::aborted(name("E"), name("A")),
        NewGroup::retired(name("F")),
    ];
    let rollout = Rollout::new(Revision(1), at(0), groups).unwrap();
    let salt = salt();
    let without_b = View::down(&["B"], at(0));
    let nothing = View::down(&["A", "B"], at(0));
    for n in 0..2000 {
        let place = group_of(&salt, fresh(n), &rollout, &AlwaysReady);
        assert!(["A", "B"].contains(&place.as_str()), "{place}");
        assert_eq!(group_of(&salt, fresh(n), &rollout, &without_b), "A");
        assert!(draw(&salt, fresh(n), &rollout, &nothing).is_none());
        if place == "A" {
            // what is not ready moves only its own keys
            let view = View::down(&["B"], at(0));
            assert_eq!(group_of(&salt, fresh(n), &rollout, &view), "A");
        }
    }
}

#[test]
fn the_draw_is_the_same_in_every_release() {
    // a change here moves the new sessions of a keyed scope between two releases of a fleet
    let rollout = rollout(&[("9f1c2ab", 50), ("c3d4e5f", 30), ("0a1b2c3", 20)]);
    let salt = salt();
    let of = |key| group_of(&salt, key, &rollout, &AlwaysReady);
    let ids: Vec<String> = (0..12).map(|n| of(fresh(n))).collect();
    let users: Vec<String> = (0..12)
        .map(|n| of(salt.key(format!("user-{n}").as_bytes())))
        .collect();
    let (a, b, c) = ("9f1c2ab", "c3d4e5f", "0a1b2c3");
    assert_eq!(ids, [b, a, a, a, b, a, b, a, b, c, a, b]);
    assert_eq!(users, [a, c, b, a, a, c, a, a, b, a, b, a]);
    let key = 0xca552834_d6b2efff_1a67ceb3_abe16879;
    assert_eq!(salt.key(b"user-0"), DrawKey(key));
}

#[test]
fn c023_one_key_is_one_group_on_every_replica() {
    let shares = [("A", 50), ("B", 50)];
    let (here, there) = (rollout(&shares), rollout(&[("B", 50), ("A", 50)]));
    let (salt_here, salt_there) = (salt(), salt());
    for user in [
        "",
        "u1",
        "u2",
        "a much longer name of a user, with spaces",
        "\u{0}",
    ] {
        let key = salt_here.key(user.as_bytes());
        assert_eq!(key, salt_there.key(user.as_bytes()));
        assert_eq!(
            group_of(&salt_here, key, &here, &AlwaysReady),
            group_of(&salt_there, key, &there, &AlwaysReady),
            "{user:?}"
        );
    }
    assert_ne!(salt_here.key(b"u1"), salt_here.key(b"u2"));
}

#[test]
fn c090_the_draws_of_two_services_are_independent() {
    // one degree of freedom: 6.63 is passed with a chance of 1 %
    let rollout = rollout(&[("A", 50), ("B", 50)]);
    for (one, two) in [("checkout", "payment"), ("exp1", "exp2"), ("a", "b")] {
        let (one, two) = (DrawSalt::new(&service(one)), DrawSalt::new(&service(two)));
        let is_a = |salt: &DrawSalt, n| {
            draw(salt, fresh(n), &rollout, &AlwaysReady).unwrap().name() == &name("A")
        };
        let statistic = chi_square((0..SESSIONS).map(|n| (is_a(&one, n), is_a(&two, n))));
        assert!(statistic < 6.63, "{statistic}");
    }
}

#[test]
fn the_draws_over_two_sets_of_groups_are_independent() {
    let (one, two) = (
        rollout(&[("A", 50), ("B", 50)]),
        rollout(&[("C", 50), ("D", 50)]),
    );
    let salt = salt();
    let statistic = chi_square((0..SESSIONS).map(|n| {
        let first = group_of(&salt, fresh(n), &one, &AlwaysReady) == "A";
        let second = group_of(&salt, fresh(n), &two, &AlwaysReady) == "C";
        (first, second)
    }));
    assert!(statistic < 6.63, "{statistic}");
}

#[test]
fn a_restored_group_draws_as_before() {
    let before = rollout(&[("A", 50), ("B", 50)]);
    let request = crate::AbortRequest::default();
    let aborted = before
        .abort(&name("B"), &request, &AlwaysReady, after(&before, at(1)))
        .unwrap();
    let restored = aborted.restore(&name("B"), after(&aborted, at(2))).unwrap();
    let shares = weights(&[("A", 50), ("B", 50)]);
    let again = restored.weights(&shares, after(&restored, at(3))).unwrap();
    assert_eq!(
        places(&before),
        places(&again),
        "keyed users find their old group"
    );
}

fn preferred(key: DrawKey, endpoints: &[EndpointId]) -> &EndpointId {
    let best = endpoints.iter().max_by_key(|e| endpoint_rank(key, e));
    best.unwrap()
}

#[test]
fn endpoints_get_equal_shares_and_a_lost_ones_sessions_spread_over_the_others() {
    let all: Vec<EndpointId> = (1..=4)
        .map(|n| endpoint(&format!("10.0.0.{n}:80")))
        .collect();
    let (gone, left) = all.split_first().unwrap();
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for n in 0..SESSIONS {
        let before = preferred(fresh(n), &all);
        let after = preferred(fresh(n), left);
        if before == gone {
            second.push(after.to_string());
        } else {
            assert_eq!(before, after, "it left an endpoint that lives");
        }
        first.push(before.to_string());
    }
    let equal: Vec<(&str, u64)> = all.iter().map(|e| (e.as_str(), 1)).collect();
    check_shares(&first, &equal);
    check_shares(&second, &equal[1..]);
}

#[test]
fn an_endpoints_choice_is_independent_of_the_groups() {
    let rollout = rollout(&[("A", 50), ("B", 50)]);
    let endpoints = [endpoint("one"), endpoint("two")];
    let pairs: Vec<String> = (0..SESSIONS)
        .map(|n| {
            let group = group_of(&salt(), fresh(n), &rollout, &AlwaysReady);
            format!("{group} {}", preferred(fresh(n), &endpoints))
        })
        .collect();
    check_shares(
        &pairs,
        &[("A one", 1), ("A two", 1), ("B one", 1), ("B two", 1)],
    );
}
