//! Facts about the table of groups.

use std::sync::Arc;
use std::time::Duration;

use tower_affinity_core::{Clock, DrawKey, DrawSalt, Readiness, Ready, SessionId, Timestamp, draw};
use tower_affinity_testing::{HandClock, START, id, name, rollout};

use super::super::{Balancing, EndpointState, Groups, Source, Unserved, Update, Wanted};
use super::{acquire, address, draining, groups, healthy, unhealthy};

#[test]
fn endpoints_that_stay_keep_their_counters_and_states() {
    let groups = groups(&[("a", 3)]);
    let before = groups.endpoints(&name("a"));
    unhealthy(&groups, "a", 1);
    let leases: Vec<_> = (0..10).map(|_| acquire(&groups, "a").unwrap()).collect();
    groups.update(&name("a"), [4, 2, 1].map(address));
    let after = groups.endpoints(&name("a"));
    assert_eq!(
        after.iter().map(|e| e.address()).collect::<Vec<_>>(),
        [4, 2, 1].map(address),
    );
    assert!(
        Arc::ptr_eq(&after[1], &before[2]),
        "an endpoint was replaced"
    );
    assert!(after[1].in_flight() > 0, "its counter was reset");
    assert_eq!(
        after[2].state(),
        EndpointState::Unhealthy,
        "its state was lost"
    );
    assert_eq!(after[0].in_flight(), 0);
    assert_eq!(
        groups.in_flight(&name("a")),
        10,
        "those that left still run"
    );
    drop(leases);
    assert_eq!(groups.in_flight(&name("a")), 0);
    assert!(before.iter().all(|e| e.in_flight() == 0));
}

#[test]
fn an_empty_list_never_empties_a_group() {
    let groups = groups(&[("a", 2)]);
    assert_eq!(groups.update(&name("a"), []), Update::Held);
    assert_eq!(groups.endpoints(&name("a")).len(), 2);
    assert_eq!(groups.of(&name("a")), Ready::Yes);
    assert_eq!(groups.update(&name("a"), [address(9)]), Update::Applied);
    assert_eq!(groups.endpoints(&name("a"))[0].address(), address(9));
}

#[test]
fn a_group_is_emptied_and_removed_by_name() {
    let groups = groups(&[("a", 2), ("b", 1)]);
    let lease = acquire(&groups, "a").unwrap();
    groups.clear(&name("a"));
    assert!(groups.endpoints(&name("a")).is_empty());
    assert_eq!(groups.in_flight(&name("a")), 1);
    groups.remove(&name("a"));
    assert_eq!(groups.names(), [name("b")]);
    drop(lease);
    let error = acquire(&groups, "a").unwrap_err();
    assert_eq!(error, Unserved::NoReadyEndpoint(name("a")));
}

#[test]
fn an_address_counts_once() {
    let groups = Groups::default();
    groups.update(&name("a"), [1, 1, 2, 1].map(address));
    assert_eq!(groups.endpoints(&name("a")).len(), 2);
}

#[test]
fn one_address_in_two_groups_is_two_endpoints() {
    let groups = Groups::default();
    groups.update(&name("a"), [address(1)]);
    groups.update(&name("b"), [address(1)]);
    let _lease = acquire(&groups, "a").unwrap();
    unhealthy(&groups, "a", 1);
    let other = &groups.endpoints(&name("b"))[0];
    assert_eq!(
        (other.in_flight(), other.state()),
        (0, EndpointState::Ready)
    );
}

#[test]
fn a_group_at_its_limit_takes_no_more() {
    let groups = Groups::default();
    groups.limit(&name("a"), Some(2));
    groups.update(&name("a"), [1, 2, 3].map(address));
    assert_eq!(groups.max_in_flight(&name("a")), Some(2));
    let mut leases: Vec<_> = (0..2).map(|_| acquire(&groups, "a").unwrap()).collect();
    let error = acquire(&groups, "a").unwrap_err();
    assert_eq!(error, Unserved::Capacity(name("a")));
    leases.pop();
    leases.push(acquire(&groups, "a").unwrap());
    assert_eq!(groups.in_flight(&name("a")), 2);
    groups.limit(&name("a"), None);
    assert!(acquire(&groups, "a").is_ok());
}

#[test]
fn requests_that_obey_no_pin_are_refused_first() {
    let groups = groups(&[("a", 3)]);
    let new = || {
        groups.acquire(&Wanted {
            id: &id("a"),
            pinned: false,
            bound: None,
            avoid: &[],
        })
    };
    groups.limit(&name("a"), Some(10));
    groups.reserve(&name("a"), 25);
    assert_eq!(groups.room(&name("a")), Some(8), "a quarter of 10 is kept");
    let mut leases: Vec<_> = (0..8).map(|_| new().unwrap()).collect();
    assert_eq!(groups.room(&name("a")), Some(0));
    assert_eq!(
        new().unwrap_err(),
        Unserved::Capacity(name("a")),
        "a new one took a place that is kept"
    );
    leases.extend((0..2).map(|_| acquire(&groups, "a").unwrap()));
    assert!(acquire(&groups, "a").is_err(), "the limit is one for all");
    assert_eq!(groups.room(&name("a")), Some(0), "it is more than full");
    groups.limit(&name("a"), None);
    assert_eq!(groups.room(&name("a")), None);
    assert!(new().is_ok(), "of no limit nothing can be kept");
}

#[test]
fn while_pinned_requests_are_refused_more_is_kept_for_them() {
    let clock = HandClock::at(Timestamp::from_secs(START));
    let groups = Groups::new(clock.clone());
    groups.update(&name("a"), [address(1), address(2)]);
    groups.limit(&name("a"), Some(10));
    let id = id("a");
    let new = || {
        groups.acquire(&Wanted {
            id: &id,
            pinned: false,
            bound: None,
            avoid: &[],
        })
    };
    let full: Vec<_> = (0..10).map(|_| acquire(&groups, "a").unwrap()).collect();
    assert!(new().is_err());
    drop(full);
    assert!(new().is_ok(), "refused new ones keep nothing from others");
    let full: Vec<_> = (0..10).map(|_| acquire(&groups, "a").unwrap()).collect();
    for _ in 0..40 {
        assert!(acquire(&groups, "a").is_err());
    }
    drop(full);
    assert!(new().is_err(), "a new one got in after many were refused");
    assert!(acquire(&groups, "a").is_ok(), "a pinned one has all of it");
    clock.advance(Duration::from_secs(5));
    let half: Vec<_> = (0..5).map(|_| new().unwrap()).collect();
    assert!(new().is_err(), "it opens with time");
    clock.advance(Duration::from_secs(5));
    let rest: Vec<_> = (0..5).map(|_| new().unwrap()).collect();
    assert_eq!(groups.in_flight(&name("a")), half.len() + rest.len());
}

#[test]
fn the_limit_of_endpoints_leaves_the_reserve_too() {
    let groups = groups(&[("a", 2)]);
    groups.balance(Balancing {
        max_in_flight: Some(5),
        ..Balancing::default()
    });
    groups.reserve(&name("a"), 20);
    let id = id("a");
    let new = || {
        groups.acquire(&Wanted {
            id: &id,
            pinned: false,
            bound: None,
            avoid: &[],
        })
    };
    let _new: Vec<_> = (0..8).map(|_| new().unwrap()).collect();
    assert!(new().is_err(), "a new one took a place that is kept");
    let _pinned = [(); 2].map(|()| acquire(&groups, "a").unwrap());
    assert!(acquire(&groups, "a").is_err());
}

#[test]
fn it_is_known_since_when_a_group_is_not_ready() {
    let start = Timestamp::from_secs(START);
    let clock = HandClock::at(start);
    let groups = Groups::new(clock.clone());
    let no = |since| Ready::No { since };
    assert_eq!(groups.of(&name("a")), no(start), "never heard of");
    for (group, first) in [("a", 1), ("b", 3), ("c", 4)] {
        groups.update(&name(group), [first, first + 10].map(address));
    }
    assert_eq!(groups.of(&name("a")), Ready::Yes);
    clock.advance(Duration::from_secs(5));
    unhealthy(&groups, "a", 1);
    assert_eq!(groups.of(&name("a")), Ready::Yes, "one is still ready");
    clock.advance(Duration::from_secs(5));
    let lost = clock.now();
    draining(&groups, "a", 11);
    clock.advance(Duration::from_secs(5));
    unhealthy(&groups, "a", 1);
    groups.update(&name("a"), [1, 11].map(address));
    assert_eq!(groups.of(&name("a")), no(lost), "the time was moved on");
    healthy(&groups, "a", 1);
    assert_eq!(groups.of(&name("a")), Ready::Yes);
    groups.clear(&name("a"));
    assert_eq!(groups.of(&name("a")), no(clock.now()));
}

#[test]
fn while_most_groups_fail_their_checks_are_not_believed() {
    let groups = groups(&[("a", 1), ("b", 1), ("c", 1)]);
    unhealthy(&groups, "a", 0);
    assert!(matches!(groups.of(&name("a")), Ready::No { .. }));
    unhealthy(&groups, "b", 1);
    assert_eq!(groups.of(&name("a")), Ready::Yes);
    assert_eq!(groups.of(&name("b")), Ready::Yes);
    healthy(&groups, "a", 0);
    assert!(matches!(groups.of(&name("b")), Ready::No { .. }));
}

#[test]
fn a_groups_share_does_not_depend_on_how_many_endpoints_it_has() {
    let groups = groups(&[("a", 99), ("b", 1)]);
    let rollout = rollout(1, &[("a", 50), ("b", 50)]);
    let salt = DrawSalt::new(&"checkout".parse().unwrap());
    let drawn = (0..10_000_u128).filter(|n| {
        let session =
            SessionId::from_random(n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
        let group = draw(&salt, DrawKey::from(session), &rollout, &groups).unwrap();
        group.name() == &name("b")
    });
    let share = drawn.count() as f64 / 10_000.0;
    let bound = 3.3 * (0.25_f64 / 10_000.0).sqrt();
    assert!(
        (share - 0.5).abs() <= bound,
        "one endpoint of 100 drew {share}"
    );
}

#[test]
fn an_endpoint_whose_health_is_asked_starts_until_the_first_answer() {
    let groups = Groups::default();
    groups.expect_checks(true);
    groups.update(&name("a"), [1, 2].map(address));
    let states = || {
        let endpoints = groups.endpoints(&name("a"));
        endpoints.iter().map(|e| e.state()).collect::<Vec<_>>()
    };
    assert_eq!(states(), [EndpointState::Starting; 2]);
    assert!(acquire(&groups, "a").is_ok(), "it takes no requests");
    healthy(&groups, "a", 1);
    unhealthy(&groups, "a", 2);
    assert_eq!(states(), [EndpointState::Ready, EndpointState::Unhealthy]);
    groups.expect_checks(false);
    groups.update(&name("a"), [1, 2, 3].map(address));
    assert_eq!(states()[2], EndpointState::Ready, "nobody will ask it");
}

/// Checks that are wrong for all groups fail, and pass again, in one group before the others.
#[test]
fn a_group_that_fails_its_checks_before_or_longer_than_others_is_tried_for_a_moment() {
    let clock = HandClock::at(Timestamp::from_secs(START));
    let groups = Groups::new(clock.clone());
    for (group, ports) in [("a", 1), ("b", 2), ("c", 3)] {
        groups.update(&name(group), [address(ports)]);
    }
    groups.hesitate(Duration::from_secs(1));
    let check = |group: &str, port, state| {
        groups.report(&name(group), address(port), Source::Health, state);
    };
    let tried = |group| acquire(&groups, group).is_ok();
    check("a", 1, EndpointState::Unhealthy);
    assert!(tried("a"), "the others had no time to fail");
    assert!(
        matches!(groups.of(&name("a")), Ready::No { .. }),
        "new sessions have other groups"
    );
    clock.advance(Duration::from_secs(1));
    assert!(!tried("a"), "the others had their time and are well");
    check("b", 2, EndpointState::Unhealthy);
    check("c", 3, EndpointState::Unhealthy);
    clock.advance(Duration::from_secs(60));
    assert!(tried("a"), "checks that fail everywhere are not believed");
    check("b", 2, EndpointState::Ready);
    check("c", 3, EndpointState::Ready);
    assert!(tried("a"), "its own check had no time to pass");
    clock.advance(Duration::from_secs(1));
    assert!(!tried("a"), "its own check had its time");
}

/// However long checks were not believed, and whether or not anybody has asked.
#[test]
fn a_group_that_passes_its_checks_after_others_has_been_ready_until_then() {
    let clock = HandClock::at(Timestamp::from_secs(START));
    let groups = Groups::new(clock.clone());
    for (group, ports) in [("a", 1), ("b", 2)] {
        groups.update(&name(group), [address(ports)]);
    }
    groups.hesitate(Duration::from_secs(1));
    let check = |group: &str, port, state| {
        groups.report(&name(group), address(port), Source::Health, state);
    };
    check("a", 1, EndpointState::Unhealthy);
    check("b", 2, EndpointState::Unhealthy);
    clock.advance(Duration::from_secs(60));
    let now = Timestamp::from_secs(START + 60);
    check("b", 2, EndpointState::Ready);
    let since = |group| match groups.of(&name(group)) {
        Ready::Yes => None,
        Ready::No { since } => Some(since),
    };
    assert_eq!(since("a"), Some(now), "its sessions would move at once");
    groups.update(&name("c"), []);
    clock.advance(Duration::from_secs(5));
    check("a", 1, EndpointState::Unhealthy);
    assert_eq!(since("a"), Some(now), "it is not well for longer than that");
    let added = Timestamp::from_secs(START + 60);
    assert_eq!(
        since("c"),
        Some(added),
        "no endpoint is no matter of checks"
    );
}
