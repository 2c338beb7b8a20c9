//! Aborts that overtake answers: no slow answer puts a session back unseen.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use tower::{Layer, ServiceExt};
use tower_affinity::Affinity;
use tower_affinity::core::{AbortPolicy, AbortRequest, Clock, GroupName, MoveCause};
use tower_affinity_testing::name;

use crate::support::{App, Browser, COOKIE_NAME, OnItsWay, Site, TI, ask, at_once};

fn start(site: &Site, token: &str) -> OnItsWay {
    let cookie = format!("{COOKIE_NAME}={token}");
    site.start(ask("GET", "/", &[("cookie", &cookie)]))
}

#[test]
fn an_abort_while_the_application_works_keeps_the_renewal_from_being_written() {
    let site = Site::new();
    let token = site.token("B");
    site.advance(TI / 2);
    let slow = start(&site, &token);
    assert_eq!(slow.group().as_deref(), Some("B"));
    site.abort("B");
    let seen = slow.arrive();
    assert_eq!(
        (seen.status(), seen.said()),
        (200, "pinned/ok@B".to_owned())
    );
    assert!(seen.is_silent(), "a pin to the aborted group was written");
    assert_eq!(site.get_with(&token).said(), "moved/aborted@A");
}

#[test]
fn a_first_pin_is_written_all_the_same_and_moves_with_the_next_request() {
    let site = Site::new();
    let slow = loop {
        let slow = site.start(ask("GET", "/", &[]));
        if slow.group().as_deref() == Some("B") {
            break slow;
        }
    };
    site.abort("B");
    let seen = slow.arrive();
    let token = seen.cookie().expect("a first pin");
    let next = site.get_with(&token);
    assert_eq!(next.said(), "moved/aborted@A");
    assert_eq!(next.affinity().session(), seen.affinity().session());
    assert_eq!(site.open(&next.cookie().unwrap()).moves, 1);
}

#[test]
fn under_stay_the_slow_answer_still_renews_until_the_deadline() {
    let site = Site::new();
    let token = site.token("B");
    site.advance(TI / 2);
    let until = site.clock.now().plus(Duration::from_secs(600));
    let (in_time, late) = (start(&site, &token), start(&site, &token));
    let stay = AbortRequest {
        policy: Some(AbortPolicy::Stay { until }),
        ..AbortRequest::default()
    };
    site.abort_with("B", &stay);
    assert!(in_time.arrive().cookie().is_some());
    assert_eq!(site.get_with(&token).said(), "pinned/aborted_stay@B");
    site.advance(600);
    assert!(late.arrive().is_silent(), "written after the deadline");
    assert_eq!(site.get_with(&token).said(), "moved/aborted@A");
}

#[test]
fn a_move_to_a_group_that_is_aborted_meanwhile_is_not_written() {
    let site = Site::of(
        tower_affinity_testing::HandClock::at(Site::new().clock.now()),
        tower_affinity_testing::rollout(10, &[("A", 90), ("B", 10), ("C", 10)]),
        crate::support::K1,
        |builder| builder,
    );
    let token = site.token("C");
    let to_b = AbortRequest {
        to: Some(name("B")),
        ..AbortRequest::default()
    };
    site.abort_with("C", &to_b);
    let slow = start(&site, &token);
    assert_eq!(slow.group().as_deref(), Some("B"));
    site.abort("B");
    assert!(slow.arrive().is_silent());
    let next = site.get_with(&token);
    assert_eq!(next.said(), "moved/aborted@A");
    assert_eq!(site.open(&next.cookie().unwrap()).moves, 1);
}

/// I4.
#[test]
fn the_revision_of_a_sessions_pins_does_not_fall_in_the_order_of_decisions() {
    let site = Site::new();
    let b = site.pin("B");
    let group = site.pin("A").group.known().unwrap().clone();
    let moved = b.moved(
        group,
        MoveCause::Aborted,
        site.revision(),
        b.issued,
        Default::default(),
    );
    let token = site.seal(&moved);
    site.app.says(200, &[("affinity-session", "moved-seen")]);
    let first = start(&site, &token);
    site.advance(TI / 2);
    let second = start(&site, &token);
    site.change(|rollout, change| rollout.drain(&name("B"), change));
    let pins = [first, second].map(|slow| site.open(&slow.arrive().cookie().unwrap()));
    assert!(
        pins[0].revision <= pins[1].revision,
        "{} was decided before {}",
        pins[0].revision,
        pins[1].revision
    );
}

/// I2 on real threads: who starts after the abort was accepted is not served there.
#[test]
fn no_thread_decides_for_a_group_after_its_abort() {
    let site = Site::new();
    let cookie = format!("{COOKIE_NAME}={}", site.token("B"));
    let accepted = AtomicBool::new(false);
    let ask_until_300_after = || {
        let service = site.layer.layer(App::new());
        let mut after = 0;
        while after < 300 {
            let was_accepted = accepted.load(Ordering::SeqCst);
            let request = ask("GET", "/", &[("cookie", &cookie)]);
            let response = at_once(service.clone().oneshot(request)).unwrap();
            let affinity = response.extensions().get::<Affinity>().unwrap();
            if was_accepted {
                assert_eq!(affinity.group(), "A", "served after the abort");
                after += 1;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(ask_until_300_after);
        }
        site.abort("B");
        accepted.store(true, Ordering::SeqCst);
    });
}

#[derive(Clone, Debug)]
enum Step {
    Send,
    /// The nth of the answers that are on their way arrives.
    Arrive(usize),
    Wait(u16),
    Abort(bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => Just(Step::Send),
        5 => (0..8_usize).prop_map(Step::Arrive),
        2 => (0..900_u16).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Abort),
    ]
}

proptest! {
    /// I2 and I3 with a real jar, in which the last arrival wins, whatever the order.
    #[test]
    fn answers_in_any_order_lead_no_session_back(steps in proptest::collection::vec(step(), 1..60)) {
        let site = Site::of(
            tower_affinity_testing::HandClock::at(Site::new().clock.now()),
            tower_affinity_testing::rollout(10, &[("A", 10), ("B", 45), ("C", 45)]),
            crate::support::K1,
            |builder| builder,
        );
        let (mut jar, mut on_their_way) = (Browser::default(), Vec::<OnItsWay>::new());
        let (mut aborted, mut edges) = (Vec::<GroupName>::new(), Vec::<(String, String)>::new());
        for step in steps {
            match step {
                Step::Send => {
                    let slow = site.start(jar.request(site.clock.now(), "GET", "/", &[]));
                    let group = slow.group().expect("a request that is served");
                    prop_assert!(
                        aborted.iter().all(|name| name.as_str() != group),
                        "{group} answers after its abort"
                    );
                    on_their_way.push(slow);
                }
                Step::Arrive(nth) if nth < on_their_way.len() => {
                    let seen = on_their_way.swap_remove(nth).arrive();
                    if let Some(moved) = seen.affinity().moved_from() {
                        let edge = (moved.from.label().to_owned(), seen.affinity().group().to_owned());
                        let back = (edge.1.clone(), edge.0.clone());
                        prop_assert!(!edges.contains(&back), "{edge:?} leads back");
                        edges.push(edge);
                    }
                    if seen.affinity().decision().kind.as_str() != "assigned"
                        && let Some(token) = seen.cookie()
                    {
                        let pin = site.open(&token);
                        let label = pin.group.label();
                        prop_assert!(
                            aborted.iter().all(|name| name.as_str() != label),
                            "a pin to {label} is written after its abort"
                        );
                    }
                    jar.take(&seen, site.clock.now());
                }
                Step::Arrive(_) => {}
                Step::Wait(secs) => site.advance(u64::from(secs)),
                Step::Abort(first) => {
                    let group = name(if first { "B" } else { "C" });
                    if !aborted.contains(&group) {
                        site.abort(group.as_str());
                        aborted.push(group);
                    }
                }
            }
        }
    }
}
