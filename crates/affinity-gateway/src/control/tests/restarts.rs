//! What survives a restart, and what refuses one.

use std::fs;

use super::*;

fn restart(plane: &Plane, groups: &str) -> Result<Control, ControlError> {
    open(&settings(groups, plane.directory.path()), &plane.clock)
}

fn state_file(plane: &Plane) -> std::path::PathBuf {
    plane.directory.path().join("gateway-state.json")
}

#[test]
fn the_rollout_survives_a_restart() {
    let plane = Plane::start(TWO);
    plane.weights(&[("aaa", 1), ("bbb", 99)]).unwrap();
    let endpoints = vec!["127.0.0.1:7003".parse().unwrap()];
    plane
        .run(Verb::Register {
            group: name("ccc"),
            endpoints,
            weight: Weight::ZERO,
            compatible_with: None,
        })
        .unwrap();
    let before = plane.control.rollouts().current();
    let control = restart(&plane, TWO).unwrap();
    assert_eq!(*control.rollouts().current(), *before);
    assert_eq!(
        control.groups().endpoints(&name("ccc")).len(),
        1,
        "an endpoint was forgotten"
    );
}

#[test]
fn an_edit_while_the_gateway_was_down_counts_at_start() {
    let plane = Plane::start(TWO);
    plane.weights(&[("aaa", 1), ("bbb", 99)]).unwrap();
    let control = restart(&plane, &TWO.replace("weight = 10", "weight = 20")).unwrap();
    let rollout = control.rollouts().current();
    let weights: Vec<u16> = rollout.groups().iter().map(|g| g.weight().get()).collect();
    assert_eq!(weights, [1, 20], "only the edited weight counts");
}

#[test]
fn a_state_file_that_is_cut_at_any_byte_refuses_the_start() {
    let plane = Plane::start(TWO);
    let whole = fs::read(state_file(&plane)).unwrap();
    // white space at the end is no part of the state
    let end = whole.len();
    for cut in (0..end).step_by(7).chain([end - 1]) {
        fs::write(state_file(&plane), &whole[..cut]).unwrap();
        let error = restart(&plane, TWO).expect_err("half a state was taken");
        assert!(
            matches!(error, ControlError::Store(StoreError::Damaged(_))),
            "cut at {cut}: {error}"
        );
    }
}

#[test]
fn a_changed_or_newer_state_file_refuses_the_start_and_says_what_to_do() {
    let plane = Plane::start(TWO);
    let text = fs::read_to_string(state_file(&plane)).unwrap();
    fs::write(
        state_file(&plane),
        text.replace("\"weight\": 90", "\"weight\": 91"),
    )
    .unwrap();
    let error = restart(&plane, TWO).unwrap_err().to_string();
    assert!(
        error.contains("damaged") && error.contains("backup"),
        "{error}"
    );
    fs::write(
        state_file(&plane),
        text.replacen("\"version\": 1", "\"version\": 2", 1),
    )
    .unwrap();
    let error = restart(&plane, TWO).unwrap_err().to_string();
    assert!(error.contains("version 2"), "{error}");
}

#[test]
fn a_change_that_cannot_be_kept_is_not_made() {
    let plane = Plane::start(TWO);
    let before = plane.control.rollouts().current();
    // a directory in the place of the file that is written beside
    fs::create_dir(plane.directory.path().join("gateway-state.new")).unwrap();
    let error = plane.weights(&[("aaa", 1)]).unwrap_err();
    assert!(
        matches!(error, ControlError::Store(StoreError::Io { .. })),
        "{error}"
    );
    assert_eq!(*plane.control.rollouts().current(), *before);
}

#[test]
fn a_renamed_cookie_is_read_for_as_long_as_a_session_lives() {
    let plane = Plane::start(TWO);
    let renamed = |name: &str| {
        let head = format!(
            "service = \"checkout\"\n[pin]\nkeys = [\"k1:env:K1\"]\ncookie = {{ name = \"{name}\" }}\n"
        );
        with_keys(&head, TWO, plane.directory.path())
    };
    let names = |control: &Control, settings: &Settings| -> Vec<String> {
        let cookies = control.former_cookies(settings);
        cookies
            .iter()
            .map(|cookie| cookie.as_name().to_owned())
            .collect()
    };
    let (one, two) = (renamed("one"), renamed("two"));
    let control = open(&one, &plane.clock).unwrap();
    assert_eq!(names(&control, &one), ["__Host-affinity-checkout"]);
    plane.clock.advance(Duration::from_secs(3600));
    let control = open(&two, &plane.clock).unwrap();
    assert_eq!(names(&control, &two), ["__Host-affinity-checkout", "one"]);
    plane.clock.advance(Duration::from_secs(3 * 3600));
    assert_eq!(
        names(&control, &two),
        ["one"],
        "the oldest has outlived every session"
    );
    assert_eq!(
        names(&control, &one),
        ["__Host-affinity-checkout", "two"][1..]
    );
}
