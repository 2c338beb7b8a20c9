//! Which endpoint a session gets that is bound to one.

use std::collections::BTreeSet;

use std::net::SocketAddr;

use tower_affinity_core::{EndpointId, EndpointRef, GroupId, Live, Readiness, SessionId};
use tower_affinity_testing::{HandClock, START, id, name};

use super::super::bound::Bound;
use super::super::outcome::Outcome;
use super::super::{Balancing, EndpointState, Groups, Lease, Unserved, Wanted};
use super::{address, draining, groups, healthy, unhealthy};
use tower_affinity_core::Timestamp;

/// A request of session `n`, whose pin names that endpoint.
fn asks(
    groups: &Groups,
    n: u128,
    named: Option<u16>,
    avoid: &[u16],
    begins: bool,
) -> Result<Lease, Unserved> {
    let named = named.map(|n| EndpointId::new(&address(n).to_string()));
    let avoid: Vec<_> = avoid.iter().copied().map(address).collect();
    groups.acquire(&Wanted {
        id: &id("a"),
        pinned: !begins,
        bound: Some(Bound {
            named: named.as_ref(),
            key: SessionId::from_random(n * 0x9e37_79b9_7f4a_7c15).into(),
            live: None,
            begins,
        }),
        avoid: &avoid,
    })
}

fn place(lease: &Lease) -> u16 {
    lease.endpoint().address().port() - 7000
}

/// Where a request of session `n` goes whose pin names that endpoint.
fn goes(groups: &Groups, n: u128, named: Option<u16>) -> u16 {
    place(&asks(groups, n, named, &[], false).unwrap())
}

fn takes(groups: &Groups, endpoint: u16) -> bool {
    let named = EndpointId::new(&address(endpoint).to_string());
    groups.has(&name("a"), &EndpointRef::Known(named))
}

#[test]
fn the_named_endpoint_is_taken_however_busy_it_is() {
    let groups = groups(&[("a", 4)]);
    let busy: Vec<_> = (0..50)
        .map(|_| asks(&groups, 1, Some(2), &[], false).unwrap())
        .collect();
    assert!(busy.iter().all(|lease| place(lease) == 2));
    groups.balance(Balancing {
        max_in_flight: Some(50),
        ..Balancing::default()
    });
    let full = asks(&groups, 1, Some(2), &[], false).unwrap_err();
    assert_eq!(
        full,
        Unserved::Capacity(name("a")),
        "it was left for being busy"
    );
    assert!(takes(&groups, 2));
    assert_ne!(goes(&groups, 9, Some(7)), 2, "one that is chosen has room");
}

#[test]
fn a_session_without_an_endpoint_always_gets_the_same_and_all_get_some() {
    let groups = groups(&[("a", 4)]);
    let mut used = BTreeSet::new();
    for n in 0..100 {
        let first = goes(&groups, n, None);
        used.insert(first);
        for _ in 0..5 {
            assert_eq!(goes(&groups, n, None), first, "session {n}");
        }
        let elsewhere = place(&asks(&groups, n, None, &[first], false).unwrap());
        assert_ne!(elsewhere, first, "what was tried is tried again");
        let lost = goes(&groups, n, Some(99));
        assert_eq!(lost, first, "an endpoint that is gone says nothing");
    }
    assert_eq!(used.len(), 4);
}

#[test]
fn a_draining_endpoint_keeps_its_sessions_and_an_unhealthy_one_does_not() {
    let groups = groups(&[("a", 4)]);
    draining(&groups, "a", 1);
    unhealthy(&groups, "a", 2);
    for n in 0..50 {
        assert_eq!(goes(&groups, n, Some(1)), 1);
        assert!([0, 3].contains(&goes(&groups, n, Some(2))));
        assert!([0, 3].contains(&goes(&groups, n, None)));
    }
    assert!(takes(&groups, 1) && !takes(&groups, 2) && !takes(&groups, 9));
    unhealthy(&groups, "a", 1);
    assert!(!takes(&groups, 1), "it drains and fails");
}

#[test]
fn in_a_panic_nobody_leaves_an_endpoint_for_its_health() {
    let groups = groups(&[("a", 4)]);
    for endpoint in 0..3 {
        unhealthy(&groups, "a", endpoint);
    }
    assert_eq!(goes(&groups, 1, Some(0)), 0);
    assert!(takes(&groups, 0));
    healthy(&groups, "a", 1);
    assert_ne!(goes(&groups, 1, Some(0)), 0);
    assert!(!takes(&groups, 0));
}

#[test]
fn an_ejected_endpoint_loses_its_sessions_while_there_are_others_and_a_new_one_tries_it() {
    let clock = HandClock::at(Timestamp::from_secs(START));
    let groups = Groups::new(clock.clone());
    groups.update(&name("a"), [address(0), address(1)]);
    let eject = |endpoint| {
        let lease = asks(&groups, 1, Some(endpoint), &[], false).unwrap();
        assert_eq!(place(&lease), endpoint);
        groups.note(&lease, Outcome::Unreached);
    };
    eject(0);
    assert!(!takes(&groups, 0) && takes(&groups, 1));
    assert_eq!(goes(&groups, 1, Some(0)), 1);
    clock.advance(std::time::Duration::from_secs(2));
    for n in 0..50 {
        assert_eq!(goes(&groups, n, None), 1, "a session that lives tried it");
    }
    let tries: Vec<_> = (0..50)
        .map(|n| asks(&groups, n, None, &[], true).unwrap())
        .collect();
    let tries: Vec<_> = tries.iter().filter(|lease| place(lease) == 0).collect();
    assert_eq!(tries.len(), 1, "one new session tries it at a time");
    groups.note(tries[0], Outcome::Answered(http::StatusCode::OK));
    assert!(takes(&groups, 0), "it serves again");
    eject(0);
    eject(1);
    assert!(
        takes(&groups, 0) && takes(&groups, 1),
        "none is better than another"
    );
}

#[test]
fn a_draining_endpoint_that_was_ejected_is_tried_by_its_own_sessions() {
    let clock = HandClock::at(Timestamp::from_secs(START));
    let groups = Groups::new(clock.clone());
    groups.update(&name("a"), (0..3).map(address));
    draining(&groups, "a", 0);
    let eject = || {
        let lease = asks(&groups, 1, Some(0), &[], false).unwrap();
        assert_eq!(place(&lease), 0);
        groups.note(&lease, Outcome::Unreached);
    };
    let state = || groups.endpoints(&name("a"))[0].state();
    eject();
    assert_eq!(state(), EndpointState::Ejected);
    assert!(!takes(&groups, 0), "it has just failed");
    assert_ne!(goes(&groups, 1, Some(0)), 0);
    clock.advance(std::time::Duration::from_secs(2));
    assert!(takes(&groups, 0), "nobody else can find out");
    assert_ne!(goes(&groups, 9, None), 0, "a new session was sent there");
    let tries = asks(&groups, 1, Some(0), &[], false).unwrap();
    assert_eq!(place(&tries), 0);
    assert!(!takes(&groups, 0), "one tries it at a time");
    groups.note(&tries, Outcome::Unreached);
    assert!(!takes(&groups, 0), "it failed once more");
    clock.advance(std::time::Duration::from_secs(3));
    let tries = asks(&groups, 1, Some(0), &[], false).unwrap();
    groups.note(&tries, Outcome::Answered(http::StatusCode::OK));
    assert!(takes(&groups, 0), "it serves its sessions again");
    assert_eq!(state(), EndpointState::Draining);
    eject();
    unhealthy(&groups, "a", 0);
    clock.advance(std::time::Duration::from_secs(2));
    assert!(!takes(&groups, 0), "its checks say that it is gone");
}

#[test]
fn the_share_of_sessions_that_an_endpoint_is_the_first_for_grows_evenly_and_is_kept() {
    let slow_start = std::time::Duration::from_secs(10);
    let clock = HandClock::at(Timestamp::from_secs(START));
    let groups = Groups::new(clock.clone());
    groups.balance(Balancing {
        slow_start,
        ..Balancing::default()
    });
    groups.update(&name("a"), [address(0), address(1)]);
    groups.update(&name("a"), [address(0), address(1), address(2)]);
    let sessions = 3000;
    let chosen = || -> BTreeSet<u128> {
        let all = 0..sessions;
        all.filter(|n| goes(&groups, *n, None) == 2).collect()
    };
    let mut before = BTreeSet::new();
    // a third of them once it has its whole share
    for (quarter, share) in [(0, 10), (1, 250), (2, 500), (3, 750), (4, 1000)] {
        let now = chosen();
        let off = now.len().abs_diff(share);
        assert!(off < 90, "{} at quarter {quarter}", now.len());
        assert!(now.is_superset(&before), "a session left it for its start");
        before = now;
        clock.advance(slow_start / 4);
    }
}

#[test]
fn where_all_endpoints_start_none_is_left_out() {
    let clock = HandClock::at(Timestamp::from_secs(START));
    let groups = Groups::new(clock);
    groups.balance(Balancing {
        slow_start: std::time::Duration::from_secs(10),
        ..Balancing::default()
    });
    groups.update(&name("a"), [address(0), address(1), address(2)]);
    groups.update(&name("a"), [address(0), address(3), address(4)]);
    draining(&groups, "a", 0);
    let used: BTreeSet<_> = (0..100).map(|n| goes(&groups, n, None)).collect();
    assert_eq!(used, BTreeSet::from([3, 4]));
}

#[test]
fn the_list_of_endpoints_is_the_same_until_it_changes() {
    let groups = groups(&[("a", 2)]);
    let list = |groups: &Groups| groups.endpoints(&name("a")).len();
    let ids = Readiness::endpoint_ids(&groups, &name("a")).unwrap();
    assert_eq!((ids.len(), list(&groups)), (2, 2));
    let again = Readiness::endpoint_ids(&groups, &name("a")).unwrap();
    assert!(std::sync::Arc::ptr_eq(&ids, &again));
    groups.update(&name("a"), [address(5)]);
    let new = Readiness::endpoint_ids(&groups, &name("a")).unwrap();
    assert_eq!(*new, [EndpointId::new("127.0.0.1:7005")]);
    assert!(Readiness::endpoint_ids(&groups, &name("b")).is_none());
}

/// So many live sessions at each endpoint.
struct Sessions(&'static [u64]);

impl Live for Sessions {
    fn of(&self, _: &GroupId) -> u64 {
        self.0.iter().sum()
    }

    fn at(&self, _: &GroupId, endpoint: &EndpointId) -> u64 {
        let at = (0..).map(|n| EndpointId::new(&address(n).to_string()));
        let mut at = at.zip(self.0);
        at.find(|(id, _)| id == endpoint)
            .map_or(0, |(_, count)| *count)
    }
}

#[test]
fn of_two_endpoints_the_one_with_fewer_live_sessions_is_chosen() {
    let groups = groups(&[("a", 4)]);
    let goes = |n: u128, live: &'static [u64], avoid: &[SocketAddr]| {
        let lease = groups.acquire(&Wanted {
            id: &id("a"),
            pinned: false,
            bound: Some(Bound {
                named: None,
                key: SessionId::from_random(n * 0x9e37_79b9_7f4a_7c15).into(),
                live: Some((&id("a"), &Sessions(live))),
                begins: true,
            }),
            avoid,
        });
        usize::from(place(&lease.unwrap()))
    };
    let mut got = [0; 4];
    for n in 0..400 {
        got[goes(n, &[9, 9, 9, 0], &[])] += 1;
        assert_ne!(goes(n, &[9, 0, 0, 0], &[]), 0, "the busiest of any two");
        assert_ne!(goes(n, &[9, 9, 9, 0], &[address(3)]), 3, "it was tried");
    }
    // it is among the two of half of all sessions
    assert!((160..240).contains(&got[3]), "{got:?}");
    assert!(got[..3].iter().all(|count| *count > 30), "a herd: {got:?}");
}
