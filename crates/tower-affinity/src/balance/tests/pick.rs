//! Which endpoint is picked.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tower_affinity_core::{Readiness, Ready, Timestamp};
use tower_affinity_testing::{HandClock, START, id, name};

use super::super::endpoint::{Endpoint, EndpointState, Source};
use super::super::outcome::Outcome;
use super::super::pick::{Picked, pick};
use super::super::{Balancing, Groups, Lease, Unserved, Wanted};
use super::{acquire, address, draining, groups, healthy, unhealthy};

#[test]
fn unequal_requests_are_spread_evenly() {
    fastrand::seed(7);
    let groups = groups(&[("a", 5)]);
    let mut busy: BTreeMap<u16, u64> = BTreeMap::new();
    let mut running: BinaryHeap<(Reverse<u64>, usize)> = BinaryHeap::new();
    let mut leases: Vec<Option<Lease>> = Vec::new();
    // about 40 at a time; one in ten takes a hundred times as long as the others
    for tick in 0..20_000 {
        while running.peek().is_some_and(|(Reverse(end), _)| *end <= tick) {
            let (_, done) = running.pop().unwrap();
            leases[done] = None;
        }
        let lease = acquire(&groups, "a").unwrap();
        let takes = if fastrand::u8(..10) == 0 { 400 } else { 4 };
        *busy.entry(lease.endpoint().address().port()).or_default() += takes;
        running.push((Reverse(tick + takes), leases.len()));
        leases.push(Some(lease));
    }
    let (most, sum) = (*busy.values().max().unwrap(), busy.values().sum::<u64>());
    let mean = sum as f64 / 5.0;
    assert_eq!(busy.len(), 5, "an endpoint was never picked: {busy:?}");
    assert!(
        most as f64 <= 1.3 * mean,
        "the busiest of {busy:?} has more than 1.3 times the mean {mean}"
    );
}

#[test]
fn the_less_busy_of_two_is_picked() {
    let groups = groups(&[("a", 2)]);
    let first = acquire(&groups, "a").unwrap();
    for _ in 0..50 {
        let second = acquire(&groups, "a").unwrap();
        assert_ne!(
            second.endpoint().address(),
            first.endpoint().address(),
            "the busy one was picked though the other was idle"
        );
    }
}

#[test]
fn a_draining_endpoint_is_never_picked() {
    let groups = groups(&[("a", 3), ("b", 1)]);
    draining(&groups, "a", 0);
    unhealthy(&groups, "a", 1);
    unhealthy(&groups, "a", 2);
    healthy(&groups, "a", 2);
    for _ in 0..100 {
        let lease = acquire(&groups, "a").unwrap();
        assert_eq!(lease.endpoint().address(), address(2));
    }
    draining(&groups, "a", 1);
    draining(&groups, "a", 2);
    let error = acquire(&groups, "a").unwrap_err();
    assert_eq!(error, Unserved::NoReadyEndpoint(name("a")));
}

#[test]
fn below_half_healthy_health_is_ignored_inside_the_group() {
    let groups = groups(&[("a", 5), ("b", 5)]);
    let picked = |group: &str| {
        let leases = (0..200).map(|_| acquire(&groups, group).unwrap());
        let ports = leases.map(|lease| lease.endpoint().address().port() - 7000);
        ports.collect::<BTreeSet<_>>()
    };
    for endpoint in [0, 1] {
        unhealthy(&groups, "a", endpoint);
    }
    assert_eq!(picked("a"), [2, 3, 4].into(), "three of five are enough");
    unhealthy(&groups, "a", 2);
    assert_eq!(
        picked("a"),
        [0, 1, 2, 3, 4].into(),
        "two of five are too few"
    );
    assert_eq!(picked("b"), [5, 6, 7, 8, 9].into(), "the other group's own");
    healthy(&groups, "a", 2);
    assert_eq!(picked("a"), [2, 3, 4].into(), "the panic is over at once");
}

#[test]
fn a_group_that_fails_alone_has_no_ready_endpoint() {
    let groups = groups(&[("a", 2), ("b", 2)]);
    for endpoint in [0, 1] {
        unhealthy(&groups, "a", endpoint);
    }
    let error = acquire(&groups, "a").unwrap_err();
    assert_eq!(error, Unserved::NoReadyEndpoint(name("a")));
    assert!(acquire(&groups, "b").is_ok());
}

#[test]
fn groups_that_fail_together_are_tried() {
    let groups = groups(&[("a", 2), ("b", 2)]);
    for (group, endpoint) in [("a", 0), ("a", 1), ("b", 2), ("b", 3)] {
        unhealthy(&groups, group, endpoint);
    }
    for group in ["a", "b"] {
        let lease = acquire(&groups, group).unwrap();
        assert_eq!(lease.group(), &name(group));
    }
}

#[test]
fn a_group_that_is_not_judged_does_not_make_checks_doubtful() {
    let groups = groups(&[("a", 1), ("b", 1), ("gone", 1)]);
    unhealthy(&groups, "a", 0);
    unhealthy(&groups, "gone", 2);
    assert!(acquire(&groups, "a").is_ok(), "two of three fail");
    groups.judge(&name("gone"), false);
    assert!(acquire(&groups, "a").is_err(), "one of two fails");
    assert!(acquire(&groups, "b").is_ok());
}

#[test]
fn the_healthy_view_believes_the_checks_however_many_fail() {
    let groups = groups(&[("a", 1), ("b", 1)]);
    unhealthy(&groups, "a", 0);
    unhealthy(&groups, "b", 1);
    assert_eq!(groups.of(&name("a")), Ready::Yes, "tried all the same");
    assert!(matches!(groups.healthy().of(&name("a")), Ready::No { .. }));
    healthy(&groups, "a", 0);
    assert_eq!(groups.healthy().of(&name("a")), Ready::Yes);
}

#[test]
fn what_could_not_be_reached_rests_while_there_are_others() {
    let clock = HandClock::at(Timestamp::from_secs(START));
    let groups = Groups::new(clock.clone());
    groups.update(&name("a"), [address(0), address(1), address(2)]);
    let picked = || -> BTreeSet<u16> {
        let leases = (0..200).map(|_| acquire(&groups, "a").unwrap());
        leases
            .map(|lease| lease.endpoint().address().port() - 7000)
            .collect()
    };
    let unreached = |port: u16| loop {
        let lease = acquire(&groups, "a").unwrap();
        if lease.endpoint().address() == address(port) {
            return groups.note(&lease, Outcome::Unreached);
        }
    };
    unreached(0);
    assert_eq!(picked(), [1, 2].into());
    // also where too few are healthy for health to be believed
    for port in [1, 2] {
        unhealthy(&groups, "a", port);
    }
    assert_eq!(
        picked(),
        [1, 2].into(),
        "what could not be reached is tried"
    );
    unreached(1);
    unreached(2);
    assert_eq!(
        picked(),
        [0, 1, 2].into(),
        "with no other left all are tried"
    );
    clock.advance(Duration::from_secs(1));
    assert_eq!(picked(), [0, 1, 2].into(), "the rest is over");
}

#[test]
fn what_was_tried_before_is_picked_only_if_no_other_is_left() {
    let groups = groups(&[("a", 3)]);
    let avoiding = |avoid: &[u16]| -> BTreeSet<u16> {
        let avoid: Vec<_> = avoid.iter().copied().map(address).collect();
        let wanted = Wanted {
            id: &id("a"),
            pinned: true,
            bound: None,
            avoid: &avoid,
        };
        let leases = (0..100).map(|_| groups.acquire(&wanted).unwrap());
        leases
            .map(|lease| lease.endpoint().address().port() - 7000)
            .collect()
    };
    assert_eq!(avoiding(&[0]), [1, 2].into());
    assert_eq!(avoiding(&[0, 2]), [1].into());
    assert_eq!(avoiding(&[0, 1, 2]), [0, 1, 2].into(), "none is left");
    unhealthy(&groups, "a", 1);
    assert_eq!(
        avoiding(&[0, 2]),
        [0, 2].into(),
        "an unhealthy one was picked to avoid others"
    );
}

fn state() -> impl Strategy<Value = (EndpointState, EndpointState)> {
    use EndpointState::{Draining, Ready, Unhealthy};
    (
        prop::sample::select(vec![Ready, Draining]),
        prop::sample::select(vec![Ready, Unhealthy]),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_the_states_are_the_pick_keeps_to_its_rule(
        states in prop::collection::vec(state(), 0..8),
        doubtful: bool,
    ) {
        let endpoints: Vec<Arc<Endpoint>> = (0..states.len())
            .map(|n| Arc::new(Endpoint::new(address(n as u16))))
            .collect();
        for (endpoint, (control, health)) in endpoints.iter().zip(&states) {
            endpoint.report(Source::Control, *control);
            endpoint.report(Source::Health, *health);
        }
        let usable = endpoints.iter().filter(|e| e.is_usable()).count();
        let ready = endpoints.iter().filter(|e| e.state() == EndpointState::Ready).count();
        let never = || panic!("nothing is ejected");
        match pick(&endpoints, &[], &Balancing::default(), || doubtful, never) {
            Ok(Picked { endpoint: picked, .. }) => {
                prop_assert!(picked.is_usable(), "a draining one was picked");
                if ready * 2 >= usable {
                    prop_assert_eq!(picked.state(), EndpointState::Ready);
                }
                prop_assert!(ready > 0 || doubtful);
            }
            Err(_) => prop_assert!(ready == 0 && (usable == 0 || !doubtful)),
        }
    }
}
