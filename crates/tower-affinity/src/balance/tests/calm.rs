//! When the endpoints of a group have not to be looked at one by one.

use std::time::Duration;

use http::StatusCode;
use tower_affinity_core::{Readiness, Ready, Timestamp};
use tower_affinity_testing::{HandClock, START, name};

use super::super::outcome::Outcome;
use super::super::{Balancing, EndpointState, Groups, Lease, Source};
use super::{acquire, address, draining, groups, healthy, unhealthy};

fn is_calm(groups: &Groups) -> bool {
    groups.table().get(&name("a")).unwrap().is_calm()
}

fn at(groups: &Groups, endpoint: u16) -> Lease {
    let mut leases = (0..10_000).map(|_| acquire(groups, "a").unwrap());
    let lease = leases.find(|lease| lease.endpoint().address() == address(endpoint));
    lease.expect("the endpoint is never picked")
}

#[test]
fn whatever_is_noted_against_an_endpoint_counts_for_the_next_request() {
    let calm = || {
        let groups = groups(&[("a", 20)]);
        assert!(acquire(&groups, "a").is_ok() && is_calm(&groups));
        groups
    };
    type Note = (&'static str, fn(&Groups));
    let notes: [Note; 5] = [
        ("health", |groups| unhealthy(groups, "a", 7)),
        ("discovery", |groups| draining(groups, "a", 7)),
        ("an operator", |groups| {
            groups.drain(&name("a"), [address(7)]);
        }),
        ("requests", |groups| {
            groups.note(&at(groups, 7), Outcome::Unreached);
        }),
        ("a list", |groups| {
            groups.update(&name("a"), (0..20).filter(|n| *n != 7).map(address));
        }),
    ];
    for (who, note) in notes {
        let groups = calm();
        note(&groups);
        let picked = (0..2_000).map(|_| acquire(&groups, "a").unwrap());
        let mut ports = picked.map(|lease| lease.endpoint().address().port() - 7000);
        assert!(!ports.any(|port| port == 7), "{who} was not believed");
    }
}

#[test]
fn a_group_is_calm_again_once_nothing_is_against_any_endpoint() {
    let clock = HandClock::at(Timestamp::from_secs(START));
    let groups = Groups::new(clock.clone());
    let slow_start = Duration::from_secs(10);
    groups.balance(Balancing {
        slow_start,
        ..Balancing::default()
    });
    groups.update(&name("a"), [0, 1, 2].map(address));
    assert!(is_calm(&groups));
    unhealthy(&groups, "a", 1);
    assert!(!is_calm(&groups), "one fails its checks");
    healthy(&groups, "a", 1);
    assert!(!is_calm(&groups), "it starts slowly");
    clock.advance(slow_start);
    let served = (0..200).map(|_| acquire(&groups, "a"));
    assert!(served.filter(Result::is_ok).count() == 200 && is_calm(&groups));

    groups.note(&at(&groups, 2), Outcome::Unreached);
    assert!(!is_calm(&groups), "it is ejected");
    clock.advance(Duration::from_secs(1));
    let probe = acquire(&groups, "a").unwrap();
    assert_eq!(probe.endpoint().address(), address(2), "it is tried");
    groups.note(&probe, Outcome::Answered(StatusCode::OK));
    assert!(!is_calm(&groups), "it starts slowly as well");
    clock.advance(slow_start);
    (0..200).for_each(|_| drop(acquire(&groups, "a")));
    assert!(is_calm(&groups), "its start is over");
    groups.update(&name("a"), [0, 1, 2, 3].map(address));
    assert!(!is_calm(&groups), "one that comes starts slowly");
}

#[test]
fn an_endpoint_that_is_full_is_not_picked_in_a_calm_group() {
    let groups = groups(&[("a", 3)]);
    groups.balance(Balancing {
        max_in_flight: Some(2),
        ..Balancing::default()
    });
    let leases: Vec<Lease> = (0..6).map(|_| acquire(&groups, "a").unwrap()).collect();
    assert!(is_calm(&groups));
    let endpoints = groups.endpoints(&name("a"));
    assert!(endpoints.iter().all(|endpoint| endpoint.in_flight() == 2));
    assert!(acquire(&groups, "a").is_err(), "one is overfull");
    drop(leases);
}

/// Whoever comes between: no group is called calm in which something is known against an endpoint.
#[test]
fn no_order_of_notes_hides_one() {
    for round in 0..20 {
        let groups = groups(&[("a", 4)]);
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let groups = &groups;
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(round * 3 + thread);
                    for _ in 0..300 {
                        let state = match random.bool() {
                            true => EndpointState::Ready,
                            false => EndpointState::Unhealthy,
                        };
                        let endpoint = address(random.u16(..4));
                        groups.report(&name("a"), endpoint, Source::Health, state);
                        let outcome = match random.u8(..4) {
                            0 => Outcome::Unreached,
                            _ => Outcome::Answered(StatusCode::OK),
                        };
                        if let Ok(lease) = acquire(groups, "a") {
                            groups.note(&lease, outcome);
                        }
                    }
                });
            }
        });
        let table = groups.table();
        let group = table.get(&name("a")).unwrap();
        assert!(
            !group.is_calm() || group.has_settled(),
            "round {round}: {:?}",
            group.endpoints
        );
    }
}

/// A request may still look at a list that was taken away meanwhile.
#[test]
fn what_is_seen_of_an_old_list_says_nothing_of_the_present_one() {
    let groups = groups(&[("a", 2)]);
    unhealthy(&groups, "a", 1);
    let old = groups.table();
    groups.clear(&name("a"));
    let old = old.get(&name("a")).unwrap();
    let endpoints = &old.endpoints;
    endpoints.iter().for_each(|endpoint| {
        endpoint.report(Source::Health, EndpointState::Ready);
    });
    old.settle();
    assert!(old.is_calm());
    let ready = groups.of(&name("a"));
    assert!(matches!(ready, Ready::No { .. }), "the old list is ready");
}
