//! What endpoints are left out, come back, start slowly and are full.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;
use tower_affinity_core::{Readiness, Ready, Timestamp};
use tower_affinity_testing::{HandClock, START, name};

use super::super::outcome::Outcome;
use super::super::{
    Balancing, Choice, EjectionReason, EndpointState, Groups, Lease, Source, Unserved,
};
use super::{acquire, address, draining, healthy, unhealthy};

const BAD: Outcome = Outcome::Answered(StatusCode::BAD_GATEWAY);
const FINE: Outcome = Outcome::Answered(StatusCode::OK);

/// Group `a` with so many endpoints.
fn group(size: u16, balancing: Balancing) -> (HandClock, Groups) {
    let clock = HandClock::at(Timestamp::from_secs(START));
    let groups = Groups::new(clock.clone());
    groups.balance(balancing);
    groups.update(&name("a"), (0..size).map(address));
    (clock, groups)
}

/// A place at that endpoint, which is not left out.
fn at(groups: &Groups, endpoint: u16) -> Lease {
    let leases = (0..10_000).map(|_| acquire(groups, "a").unwrap());
    let mut leases = leases.filter(|lease| lease.endpoint().address() == address(endpoint));
    leases.next().expect("the endpoint is never picked")
}

fn note(groups: &Groups, endpoint: u16, outcome: Outcome, times: usize) {
    for _ in 0..times {
        groups.note(&at(groups, endpoint), outcome);
    }
}

fn state(groups: &Groups, endpoint: u16) -> EndpointState {
    let endpoints = groups.endpoints(&name("a"));
    let mut endpoints = endpoints.iter();
    let found = endpoints.find(|e| e.address() == address(endpoint));
    found.expect("the endpoint is in the list").state()
}

/// How often each endpoint is picked by requests that are served at once.
fn shares(groups: &Groups, requests: usize) -> BTreeMap<u16, usize> {
    let mut counts = BTreeMap::new();
    for _ in 0..requests {
        let lease = acquire(groups, "a").unwrap();
        let port = lease.endpoint().address().port();
        *counts.entry(port - 7000).or_default() += 1;
        groups.note(&lease, FINE);
    }
    counts
}

#[test]
fn failures_in_a_row_eject_and_one_request_tries_it_again() {
    let (clock, groups) = group(3, Balancing::default());
    note(&groups, 0, BAD, 4);
    note(&groups, 0, FINE, 1);
    note(&groups, 0, BAD, 4);
    assert_eq!(
        state(&groups, 0),
        EndpointState::Ready,
        "never five in a row"
    );
    note(&groups, 0, Outcome::TimedOut, 1);
    assert_eq!(state(&groups, 0), EndpointState::Ejected);
    assert_eq!(groups.ejections(&name("a"), EjectionReason::Failures), 1);
    assert!(
        !shares(&groups, 200).contains_key(&0),
        "an ejected one was picked"
    );

    clock.advance(Duration::from_secs(1));
    let probe = acquire(&groups, "a").unwrap();
    assert_eq!(probe.endpoint().address(), address(0), "nobody tries it");
    assert!(
        !shares(&groups, 200).contains_key(&0),
        "a second one tries it"
    );
    groups.note(&probe, BAD);
    drop(probe);
    clock.advance(Duration::from_millis(1_999));
    assert!(
        !shares(&groups, 200).contains_key(&0),
        "it was not out for longer"
    );
    clock.advance(Duration::from_millis(1));
    // a client that goes away leaves the right to try to the next
    drop(acquire(&groups, "a").unwrap());
    let probe = acquire(&groups, "a").unwrap();
    assert_eq!(probe.endpoint().address(), address(0));
    groups.note(&probe, FINE);
    drop(probe);
    assert_eq!(state(&groups, 0), EndpointState::Ready);
    assert!(shares(&groups, 200).contains_key(&0));
    assert_eq!(groups.ejections(&name("a"), EjectionReason::Failures), 2);
}

#[test]
fn what_cannot_be_reached_is_ejected_at_once_and_its_share_is_none() {
    let (_, groups) = group(4, Balancing::default());
    let late = at(&groups, 3);
    for dead in 0..3 {
        note(&groups, dead, Outcome::Unreached, 1);
    }
    assert_eq!(
        shares(&groups, 300),
        [(3, 300)].into(),
        "three of four are dead"
    );
    note(&groups, 3, Outcome::Unreached, 1);
    assert!(groups.panics(&name("a")));
    assert_eq!(
        groups.of(&name("a")),
        Ready::Yes,
        "requests find out, not checks"
    );
    groups.note(&late, FINE);
    assert_eq!(
        state(&groups, 3),
        EndpointState::Ejected,
        "an answer to what was sent before the ejection ended it"
    );
    note(&groups, 2, FINE, 1);
    assert!(!groups.panics(&name("a")), "the panic is over at once");
    assert_eq!(shares(&groups, 300), [(2, 300)].into());
}

#[test]
fn failures_alone_never_eject_more_than_half() {
    for size in 1..=5_u16 {
        let (_, groups) = group(size, Balancing::default());
        for _ in 0..500 {
            groups.note(&acquire(&groups, "a").unwrap(), BAD);
        }
        let ejected = (0..size).filter(|n| state(&groups, *n) == EndpointState::Ejected);
        assert_eq!(ejected.count(), usize::from(size / 2), "of {size}");
    }
}

#[test]
fn a_plain_error_of_the_application_ejects_nobody() {
    let (_, groups) = group(2, Balancing::default());
    let error = Outcome::Answered(StatusCode::INTERNAL_SERVER_ERROR);
    for _ in 0..100 {
        groups.note(&acquire(&groups, "a").unwrap(), error);
    }
    for endpoint in 0..2 {
        assert_eq!(state(&groups, endpoint), EndpointState::Ready);
    }
}

#[test]
fn an_endpoint_of_another_group_is_ejected_until_it_answers_right() {
    let (clock, groups) = group(2, Balancing::default());
    note(&groups, 1, Outcome::WrongGroup, 1);
    assert_eq!(shares(&groups, 100), [(0, 100)].into());
    assert_eq!(groups.ejections(&name("a"), EjectionReason::WrongGroup), 1);
    clock.advance(Duration::from_secs(1));
    note(&groups, 1, Outcome::WrongGroup, 1);
    assert_eq!(state(&groups, 1), EndpointState::Ejected);
    clock.advance(Duration::from_secs(2));
    note(&groups, 1, FINE, 1);
    assert_eq!(state(&groups, 1), EndpointState::Ready);
}

#[test]
fn ejections_and_drain_marks_outlive_lists_and_settings() {
    let (_, groups) = group(4, Balancing::default());
    note(&groups, 0, Outcome::Unreached, 1);
    draining(&groups, "a", 1);
    groups.update(&name("a"), [3, 1, 0].map(address));
    groups.balance(Balancing {
        max_in_flight: Some(100_000),
        ..Balancing::default()
    });
    assert_eq!(state(&groups, 0), EndpointState::Ejected);
    assert_eq!(state(&groups, 1), EndpointState::Draining);
    assert_eq!(groups.ejections(&name("a"), EjectionReason::Connect), 1);
    assert_eq!(shares(&groups, 100), [(3, 100)].into());
}

#[test]
fn what_an_operator_drains_is_drained_in_every_list_until_that_is_taken_back() {
    let (_, groups) = group(2, Balancing::default());
    groups.drain(&name("a"), [address(1), address(2)]);
    assert_eq!(state(&groups, 0), EndpointState::Ready);
    assert_eq!(state(&groups, 1), EndpointState::Draining);
    groups.report(
        &name("a"),
        address(1),
        Source::Control,
        EndpointState::Ready,
    );
    assert_eq!(
        state(&groups, 1),
        EndpointState::Draining,
        "discovery took it back"
    );
    groups.update(&name("a"), [address(0)]);
    groups.update(&name("a"), [address(0), address(1), address(2)]);
    for drained in [1, 2] {
        let state = state(&groups, drained);
        assert_eq!(
            state,
            EndpointState::Draining,
            "{drained} came back undrained"
        );
    }
    for _ in 0..50 {
        let lease = acquire(&groups, "a").unwrap();
        assert_eq!(lease.endpoint().address(), address(0));
    }
    groups.drain(&name("a"), [address(2)]);
    assert_eq!(state(&groups, 1), EndpointState::Ready);
    assert_eq!(state(&groups, 2), EndpointState::Draining);
}

#[test]
fn a_drain_comes_before_the_first_list_and_empties_a_group_that_is_drained_wholly() {
    let groups = Groups::default();
    groups.drain(&name("a"), [address(0)]);
    groups.update(&name("a"), [address(0)]);
    let none = acquire(&groups, "a").unwrap_err();
    assert_eq!(none, Unserved::NoReadyEndpoint(name("a")));
    assert_ne!(Readiness::of(&groups, &name("a")), Ready::Yes);
    groups.drain(&name("a"), []);
    assert_eq!(Readiness::of(&groups, &name("a")), Ready::Yes);
}

#[test]
fn what_is_not_drained_any_more_begins_slowly() {
    let (_, groups) = group(
        2,
        Balancing {
            slow_start: Duration::from_secs(10),
            ..Balancing::default()
        },
    );
    groups.drain(&name("a"), [address(1)]);
    groups.drain(&name("a"), [address(1)]);
    assert_eq!(state(&groups, 1), EndpointState::Draining);
    groups.drain(&name("a"), []);
    assert_eq!(state(&groups, 1), EndpointState::Starting);
    assert_eq!(
        state(&groups, 0),
        EndpointState::Ready,
        "the other one never drained"
    );
}

#[test]
fn the_share_of_what_comes_to_others_grows_evenly() {
    let slow_start = Duration::from_secs(10);
    let slow = || Balancing {
        slow_start,
        ..Balancing::default()
    };
    let (clock, groups) = group(3, slow());
    fastrand::seed(7);
    assert_eq!(state(&groups, 0), EndpointState::Ready, "all are new");
    groups.update(&name("a"), (0..4).map(address));
    assert_eq!(state(&groups, 3), EndpointState::Starting);
    for (percent, low, high) in [(0, 0, 60), (25, 450, 800), (50, 1_000, 1_500)] {
        let share = shares(&groups, 10_000).get(&3).copied().unwrap_or_default();
        assert!(
            (low..=high).contains(&share),
            "{share} of 10000 requests after {percent} % of the start"
        );
        clock.advance(slow_start / 4);
    }
    clock.advance(slow_start / 4);
    assert_eq!(state(&groups, 3), EndpointState::Ready);
    let share = shares(&groups, 10_000)[&3];
    assert!((2_200..2_800).contains(&share), "{share} is no quarter");
    unhealthy(&groups, "a", 0);
    healthy(&groups, "a", 0);
    assert_eq!(state(&groups, 0), EndpointState::Starting, "healthy again");
}

#[test]
fn a_full_endpoint_takes_no_more_and_a_full_group_refuses() {
    let (_, groups) = group(
        3,
        Balancing {
            max_in_flight: Some(2),
            ..Balancing::default()
        },
    );
    let mut leases: Vec<_> = (0..6).map(|_| acquire(&groups, "a").unwrap()).collect();
    for endpoint in groups.endpoints(&name("a")) {
        assert_eq!(endpoint.in_flight(), 2, "{}", endpoint.address());
    }
    let error = acquire(&groups, "a").unwrap_err();
    assert_eq!(error, Unserved::Capacity(name("a")));
    assert_eq!(groups.in_flight(&name("a")), 6, "a refused one was counted");
    let freed = leases.pop().unwrap().endpoint().address();
    let lease = acquire(&groups, "a").unwrap();
    assert_eq!(lease.endpoint().address(), freed);
}

#[test]
fn by_latency_the_slow_and_the_failing_get_little() {
    let (clock, groups) = group(
        8,
        Balancing {
            choice: Choice::PeakEwma,
            ..Balancing::default()
        },
    );
    fastrand::seed(7);
    let mut counts = BTreeMap::<u16, usize>::new();
    for _ in 0..4_000 {
        let lease = acquire(&groups, "a").unwrap();
        let port = lease.endpoint().address().port() - 7000;
        *counts.entry(port).or_default() += 1;
        let outcome = match port {
            // a plain error at once: it is not ejected, only not preferred
            0 => Outcome::Answered(StatusCode::INTERNAL_SERVER_ERROR),
            1 => {
                clock.advance(Duration::from_millis(500));
                FINE
            }
            _ => {
                clock.advance(Duration::from_millis(5));
                FINE
            }
        };
        groups.note(&lease, outcome);
    }
    for bad in [0, 1] {
        let count = counts.get(&bad).copied().unwrap_or_default();
        assert!(
            count <= 200,
            "{bad} has {count} of 4000 requests: {counts:?}"
        );
    }
    for good in 2..8 {
        assert!(counts[&good] > 400, "{good} has too few: {counts:?}");
    }
}
