//! When a group is drained: by its pins, what is open, and over restarts and crashes.

use tower_affinity_testing::id;

use super::*;
use crate::drained::Watch;
use crate::metrics::Metrics;
use tower_affinity::core::Left;

const TA: Duration = Duration::from_secs(4 * 3600);

/// A plane whose first four hours are over: what may have been issued before it is not valid.
fn settled() -> Plane {
    let plane = Plane::start(TWO);
    plane.clock.advance(TA + Duration::from_secs(1));
    plane
}

fn now(plane: &Plane) -> Timestamp {
    plane.control.now()
}

/// A pin to bbb that is valid for so long.
fn issue(plane: &Plane, secs: u64) -> Timestamp {
    let expires = now(plane).plus(Duration::from_secs(secs));
    plane.control.expiries().note(&id("bbb"), expires);
    expires
}

fn left(control: &Control) -> Left {
    let rollout = control.rollouts().current();
    control.left(rollout.group(&name("bbb")).unwrap())
}

fn retire(plane: &Plane) -> Result<Changed, ControlError> {
    plane.run(Verb::Retire {
        group: name("bbb"),
        force: false,
    })
}

fn restart(plane: &Plane) -> Control {
    open(&settings(TWO, plane.directory.path()), &plane.clock).unwrap()
}

#[test]
fn a_group_is_drained_with_its_last_pin_and_not_before() {
    let plane = settled();
    let expires = issue(&plane, 600);
    plane.run(Verb::Drain(name("bbb"))).unwrap();
    plane.clock.set(expires);
    assert!(!left(&plane.control).drained);
    let error = retire(&plane).unwrap_err().to_string();
    assert!(error.contains("is not drained before"), "{error}");
    plane.clock.advance(Duration::from_secs(1));
    assert!(left(&plane.control).drained);
    retire(&plane).unwrap();
}

#[test]
fn c046_a_group_without_any_pin_is_drained_at_once() {
    let plane = settled();
    let endpoints = vec!["127.0.0.1:7003".parse().unwrap()];
    let register = Verb::Register {
        group: name("ccc"),
        endpoints,
        weight: Weight::ZERO,
        compatible_with: None,
    };
    plane.run(register).unwrap();
    let rollout = plane.control.rollouts().current();
    let group = rollout.group(&name("ccc")).unwrap();
    assert!(plane.control.left(group).drained);
    plane.weights(&[("ccc", 1)]).unwrap();
    plane.run(Verb::Drain(name("ccc"))).unwrap();
    plane.clock.advance(Duration::from_secs(1));
    let rollout = plane.control.rollouts().current();
    let group = rollout.group(&name("ccc")).unwrap();
    assert!(plane.control.left(group).drained);
}

#[test]
fn an_end_in_good_order_keeps_the_last_expiry() {
    let plane = settled();
    let expires = issue(&plane, 600);
    plane.run(Verb::Drain(name("bbb"))).unwrap();
    plane.control.close().unwrap();
    let control = restart(&plane);
    assert_eq!(left(&control).last_expiry, Some(expires));
    plane.clock.set(expires.plus(Duration::from_secs(1)));
    assert!(left(&control).drained);
}

#[test]
fn what_a_crash_lost_counts_as_a_whole_life_from_the_start_and_never_above_the_bound() {
    let plane = settled();
    issue(&plane, 600);
    plane.run(Verb::Drain(name("bbb"))).unwrap();
    let bound = left(&plane.control).by.unwrap();
    plane.control.keep_expiries().unwrap();
    plane.clock.advance(Duration::from_secs(3600));
    let control = restart(&plane);
    assert_eq!(left(&control).last_expiry, Some(now(&plane).plus(TA)));
    assert_eq!(left(&control).after, Some(bound));
    plane.clock.set(bound);
    assert!(!left(&control).drained);
    plane.clock.advance(Duration::from_millis(1));
    assert!(left(&control).drained);
}

#[test]
fn the_end_of_pins_is_kept_only_when_it_has_moved() {
    let plane = settled();
    let file = plane.directory.path().join("gateway-state.json");
    plane.control.keep_expiries().unwrap();
    let kept = std::fs::read(&file).unwrap();
    issue(&plane, 4 * 3600);
    assert_eq!(std::fs::read(&file).unwrap(), kept);
    plane.control.keep_expiries().unwrap();
    assert_ne!(std::fs::read(&file).unwrap(), kept);
}

#[test]
fn a_late_pin_makes_a_drained_group_not_drained_again() {
    let plane = settled();
    plane.run(Verb::Drain(name("bbb"))).unwrap();
    plane.clock.advance(Duration::from_secs(1));
    let metrics = Metrics::new().unwrap();
    let mut watch = Watch::default();
    let mut look = || {
        watch.look(&plane.control, metrics.recorder());
        (metrics.renderer(&plane.control, None))()
    };
    assert!(!look().contains("late_pins_total{"));
    assert!(left(&plane.control).drained);
    issue(&plane, 60);
    for nth in 1..3 {
        let text = look();
        let late = "affinity_late_pins_total{group=\"bbb\"} 1\n";
        assert!(text.contains(late), "look {nth}: {text}");
        assert!(!left(&plane.control).drained);
    }
}
