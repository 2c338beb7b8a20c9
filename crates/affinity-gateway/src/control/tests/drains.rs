//! Endpoints that an operator drains: what outlives what.

use std::net::SocketAddr;

use tower_affinity::balance::EndpointState;

use super::super::Wish;
use super::*;

const THREE: &str = r#"
[[group]]
name = "aaa"
weight = 1
endpoints = ["127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1:7003"]
"#;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn wish(endpoint: &str, drain: bool) -> Wish {
    Wish {
        who: "a test".to_owned(),
        if_match: None,
        group: name("aaa"),
        address: address(endpoint),
        drain,
        force: false,
    }
}

/// The ports of the endpoints that drain.
fn draining(control: &Control) -> Vec<u16> {
    let endpoints = control.groups().endpoints(&name("aaa"));
    let drained = endpoints
        .iter()
        .filter(|e| e.state() == EndpointState::Draining);
    drained.map(|endpoint| endpoint.address().port()).collect()
}

#[test]
fn a_drained_endpoint_is_drained_after_a_restart_and_in_another_list() {
    let plane = Plane::start(THREE);
    let marked = plane.control.mark(&wish("127.0.0.1:7002", true)).unwrap();
    assert!(marked.changed);
    assert_eq!(draining(&plane.control), [7002]);
    let settings_now = settings(THREE, plane.directory.path());
    let control = open(&settings_now, &plane.clock).unwrap();
    assert_eq!(draining(&control), [7002], "a restart has forgotten it");

    let without = THREE.replace(", \"127.0.0.1:7002\"", "");
    control
        .apply(&settings(&without, plane.directory.path()))
        .unwrap();
    assert_eq!(draining(&control), [0_u16; 0]);
    control.apply(&settings_now).unwrap();
    assert_eq!(draining(&control), [7002], "it came back undrained");

    // it is taken back also while it is away
    control
        .apply(&settings(&without, plane.directory.path()))
        .unwrap();
    assert!(
        control
            .mark(&wish("127.0.0.1:7002", false))
            .unwrap()
            .changed
    );
    control.apply(&settings_now).unwrap();
    assert_eq!(draining(&control), [0_u16; 0]);
}

#[test]
fn an_endpoint_is_the_same_in_both_spellings_and_the_last_one_needs_force() {
    let plane = Plane::start(THREE);
    let mark = |endpoint, drain| plane.control.mark(&wish(endpoint, drain));
    assert!(mark("[::ffff:127.0.0.1]:7001", true).unwrap().changed);
    assert!(!mark("127.0.0.1:7001", true).unwrap().changed);
    mark("127.0.0.1:7002", true).unwrap();
    let last = mark("127.0.0.1:7003", true).unwrap_err();
    assert!(matches!(last, ControlError::LastEndpoint { .. }), "{last}");
    let none = mark("127.0.0.1:7004", true).unwrap_err();
    assert!(matches!(none, ControlError::NoEndpoint { .. }), "{none}");
    assert_eq!(draining(&plane.control), [7001, 7002]);
    let forced = Wish {
        force: true,
        ..wish("127.0.0.1:7003", true)
    };
    plane.control.mark(&forced).unwrap();
    assert_eq!(draining(&plane.control), [7001, 7002, 7003]);
}

#[test]
fn a_mark_that_cannot_be_kept_is_not_made() {
    let plane = Plane::start(THREE);
    std::fs::remove_dir_all(plane.directory.path()).unwrap();
    let error = plane
        .control
        .mark(&wish("127.0.0.1:7001", true))
        .unwrap_err();
    assert!(matches!(error, ControlError::Store(_)), "{error}");
    assert_eq!(draining(&plane.control), [0_u16; 0]);
}

#[test]
fn a_preview_says_what_a_mark_would_do_and_a_lock_does_not_forbid_it() {
    let plane = Plane::start(THREE);
    plane.run(Verb::Lock).unwrap();
    let revision = plane.revision();
    let wish = wish("127.0.0.1:7001", true);
    assert!(plane.control.preview_mark(&wish).unwrap().changed);
    assert_eq!(draining(&plane.control), [0_u16; 0]);
    plane.control.mark(&wish).unwrap();
    assert!(!plane.control.preview_mark(&wish).unwrap().changed);
    assert_eq!(plane.revision(), revision, "it is no change of the rollout");
}
