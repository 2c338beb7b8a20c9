//! Edits of the configuration file.

use super::*;

fn block(name: &str, lines: &str, port: u16) -> String {
    format!("[[group]]\nname = \"{name}\"\n{lines}\nendpoints = [\"127.0.0.1:{port}\"]\n")
}

#[test]
fn an_unedited_value_never_overrides_the_live_rollout() {
    let plane = Plane::start(TWO);
    plane.weights(&[("aaa", 50), ("bbb", 50)]).unwrap();
    let before = plane.revision();
    plane.apply(TWO).unwrap();
    assert_eq!(plane.revision(), before, "an unedited file made a change");
    assert_eq!(plane.shown()[0], ("aaa".to_owned(), "active", 50));
}

#[test]
fn edited_weights_become_one_change() {
    let plane = Plane::start(TWO);
    let before = plane.revision();
    plane
        .apply(
            &TWO.replace("90", "40")
                .replace("weight = 10", "weight = 60"),
        )
        .unwrap();
    assert_eq!(plane.revision(), before.next());
    let weights: Vec<u16> = plane.shown().into_iter().map(|group| group.2).collect();
    assert_eq!(weights, [40, 60]);
}

#[test]
fn a_new_block_registers_a_group_as_it_is_written() {
    let plane = Plane::start(TWO);
    let before = plane.revision();
    let more = block("ccc", "weight = 5", 7003) + &block("ddd", "state = \"staged\"", 7004);
    plane.apply(&format!("{TWO}{more}")).unwrap();
    assert_eq!(plane.revision(), before.next(), "one edit is one change");
    assert_eq!(
        plane.shown()[2..],
        [
            ("ccc".to_owned(), "active", 5),
            ("ddd".to_owned(), "staged", 0)
        ]
    );
    assert_eq!(plane.control.groups().endpoints(&name("ccc")).len(), 1);
}

#[test]
fn a_block_for_a_group_that_a_verb_registered_changes_nothing_by_its_defaults() {
    let plane = Plane::start(TWO);
    let endpoints = vec!["127.0.0.1:7003".parse().unwrap()];
    let weight = Weight::new(30).unwrap();
    plane
        .run(Verb::Register {
            group: name("ccc"),
            endpoints,
            weight,
            compatible_with: None,
        })
        .unwrap();
    let before = plane.shown();
    plane
        .apply(&format!("{TWO}{}", block("ccc", "", 7009)))
        .unwrap();
    assert_eq!(plane.shown(), before);
    let endpoints = plane.control.groups().endpoints(&name("ccc"));
    assert_eq!(
        endpoints[0].address().port(),
        7009,
        "the file's endpoints count"
    );
}

#[test]
fn an_edited_state_is_its_verb() {
    let plane = Plane::start(TWO);
    let drained = TWO.replace("weight = 10", "state = \"draining\"");
    plane.apply(&drained).unwrap();
    assert_eq!(
        plane.shown(),
        [
            // the freed weight goes to the stable group
            ("aaa".to_owned(), "active", 100),
            ("bbb".to_owned(), "draining", 0)
        ]
    );
    plane
        .apply(&drained.replace("\"draining\"", "\"aborted\"\nabort_to = \"aaa\""))
        .unwrap();
    assert_eq!(plane.shown()[1].1, "aborted");
}

#[test]
fn no_edit_lifts_an_abort() {
    let plane = Plane::start(TWO);
    let abort = Verb::Abort {
        group: name("bbb"),
        to: None,
        policy: None,
        within: None,
        force: false,
    };
    plane.run(abort).unwrap();
    let (before, shown) = (plane.revision(), plane.shown());
    // an edited weight of the aborted group
    let error = plane
        .apply(&TWO.replace("weight = 10", "weight = 20"))
        .unwrap_err();
    assert!(error.to_string().contains("bbb is aborted"), "{error}");
    assert_eq!((plane.revision(), plane.shown()), (before, shown.clone()));
    // the state back and forth in the file
    let aborted = TWO.replace("weight = 10", "state = \"aborted\"\nabort_to = \"aaa\"");
    plane.apply(&aborted).unwrap();
    let error = plane.apply(TWO).unwrap_err();
    assert!(error.to_string().contains("restore it"), "{error}");
    assert_eq!(plane.shown(), shown);
}

#[test]
fn another_stable_group_in_the_file_drains_nobody() {
    let plane = Plane::start(TWO);
    let swapped = TWO
        .replace("stable = true\n", "")
        .replace("weight = 10", "weight = 10\nstable = true");
    plane.apply(&swapped).unwrap();
    assert_eq!(*plane.control.rollouts().current().stable(), name("bbb"));
    assert_eq!(
        plane.shown(),
        [
            ("aaa".to_owned(), "active", 90),
            ("bbb".to_owned(), "active", 10)
        ]
    );
}

/// C137.
#[test]
fn a_block_of_a_group_with_sessions_cannot_be_removed() {
    let plane = Plane::start(TWO);
    let (before, shown) = (plane.revision(), plane.shown());
    let one = TWO.split("[[group]]\nname = \"bbb\"").next().unwrap();
    let error = plane.apply(one).unwrap_err();
    assert!(error.to_string().contains("drain it first"), "{error}");
    assert_eq!((plane.revision(), plane.shown()), (before, shown));
    plane
        .apply(&TWO.replace("weight = 10", "state = \"draining\""))
        .unwrap();
    plane.clock.advance(Duration::from_secs(4 * 3600 + 1));
    plane.apply(one).unwrap();
    assert_eq!(plane.shown()[1].1, "retired");
}

/// C106.
#[test]
fn applying_the_same_file_a_hundred_times_changes_nothing() {
    let plane = Plane::start(TWO);
    let before = plane.revision();
    for _ in 0..100 {
        plane.apply(TWO).unwrap();
    }
    assert_eq!(plane.revision(), before);
}

#[test]
fn a_refused_edit_changes_no_endpoint_either() {
    let plane = Plane::start(TWO);
    let edited = TWO
        .replace("7001", "7777")
        .replace("name = \"bbb\"", "name = \"ccc\"");
    plane.apply(&edited).unwrap_err();
    let endpoints = plane.control.groups().endpoints(&name("aaa"));
    assert_eq!(endpoints[0].address().port(), 7001);
    assert!(plane.control.groups().endpoints(&name("ccc")).is_empty());
}

#[test]
fn a_signing_key_leaves_only_after_its_pins() {
    let plane = Plane::start(TWO);
    let keys = |list: &str, more: &str| {
        let head = format!("service = \"checkout\"\n[pin]\nkeys = [{list}]\n{more}\n");
        plane
            .control
            .apply(&with_keys(&head, TWO, plane.directory.path()))
    };
    let error = keys("\"k2:env:K2\"", "").unwrap_err().to_string();
    assert!(error.contains("key k1 cannot leave"), "{error}");
    keys("\"k2:env:K2\", \"k1:env:K1\"", "").unwrap();
    plane.clock.advance(Duration::from_secs(3 * 3600));
    keys("\"k2:env:K2\"", "").unwrap_err();
    keys("\"k2:env:K2\"", "drop_early = [\"k1\"]").unwrap();
    assert_eq!(
        plane
            .control
            .codec()
            .key_ids()
            .map(|id| id.as_str())
            .collect::<Vec<_>>(),
        ["k2"]
    );
}

#[test]
fn an_edited_declaration_is_a_change_and_an_unedited_one_is_none() {
    let plane = Plane::start(TWO);
    let with = |group: &str| {
        let rollout = plane.control.rollouts().current();
        let names = rollout.group(&name(group)).unwrap().compatible_with();
        names.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let before = plane.revision();
    let declared = TWO.replace("weight = 10", "weight = 10\ncompatible_with = [\"aaa\"]");
    plane.apply(&declared).unwrap();
    assert_eq!(plane.revision(), before.next());
    assert_eq!(with("bbb"), ["aaa"]);
    plane.apply(&declared).unwrap();
    assert_eq!(
        plane.revision(),
        before.next(),
        "an unedited file made a change"
    );
    let more = block("ccc", "compatible_with = [\"bbb\", \"gone\"]", 7003);
    plane.apply(&format!("{declared}{more}")).unwrap();
    assert_eq!(with("ccc"), ["bbb", "gone"]);
    plane.apply(&format!("{TWO}{more}")).unwrap();
    assert_eq!(with("bbb"), [""; 0], "taken back");
}

#[test]
fn a_group_is_registered_with_what_it_declares() {
    let plane = Plane::start(TWO);
    let register = |group: &str, with: &[&str]| Verb::Register {
        group: name(group),
        endpoints: vec!["127.0.0.1:7003".parse().unwrap()],
        weight: Weight::ZERO,
        compatible_with: Some(with.iter().map(|other| name(other)).collect()),
    };
    let before = plane.revision();
    let refused = plane.run(register("ccc", &["ccc"])).unwrap_err();
    assert!(refused.to_string().contains("names itself"), "{refused}");
    assert_eq!(plane.revision(), before, "nothing was registered");
    plane.run(register("ccc", &["aaa"])).unwrap();
    assert_eq!(plane.revision(), before.next(), "one change");
    let rollout = plane.control.rollouts().current();
    assert_eq!(
        rollout.group(&name("ccc")).unwrap().compatible_with(),
        [name("aaa")]
    );
}
