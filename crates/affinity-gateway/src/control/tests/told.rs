//! What the events say of changes.

use tower_affinity_testing::engine::{Fault, MemoryEngine};

use super::sharing::{Replica, abort, weights};
use super::*;

fn texts(control: &Control) -> Vec<String> {
    let events = control.events().after(None);
    events.iter().map(|event| event.text.clone()).collect()
}

#[test]
fn each_change_is_told_with_its_verb_who_and_what_is_another() {
    let plane = Plane::start(TWO);
    plane.weights(&[("bbb", 20)]).unwrap();
    plane.weights(&[("bbb", 20)]).unwrap();
    plane.run(Verb::Drain(name("aaa"))).unwrap_err();
    plane.run(Verb::Lock).unwrap();
    plane.run(Verb::Unlock).unwrap();
    plane
        .apply(&TWO.replace("weight = 10", "weight = 30"))
        .unwrap();
    let revision = |after: u64| START + after;
    assert_eq!(
        texts(&plane.control),
        [
            format!(
                "weights by a test, revision {}: bbb active 10 → active 20",
                revision(1)
            ),
            format!("lock by a test, revision {}: locked", revision(2)),
            format!("unlock by a test, revision {}: unlocked", revision(3)),
            format!(
                "edit by configuration, revision {}: bbb active 20 → active 30",
                revision(4)
            ),
        ],
        "what altered nothing or was refused is no event"
    );
}

#[test]
fn a_lock_hides_nothing_that_came_with_it() {
    let plane = Plane::start(TWO);
    let before = plane.control.rollouts().current();
    plane.weights(&[("bbb", 20)]).unwrap();
    plane.run(Verb::Lock).unwrap();
    let after = plane.control.rollouts().current();
    let text = crate::control::told::difference(&before, &after);
    assert_eq!(text, "bbb active 10 → active 20, locked");
}

#[tokio::test]
async fn a_replica_tells_what_another_one_has_changed() {
    let engine = MemoryEngine::new();
    let (one, two) = (Replica::join(&engine).await, Replica::join(&engine).await);
    let before = texts(&two.control).len();
    one.run(weights("bbb", 33)).await.unwrap();
    two.sync().await;
    two.sync().await;
    let told = texts(&two.control).split_off(before);
    let [told] = &told[..] else {
        panic!("not once: {told:?}")
    };
    let begin = format!("revision {} of the shared state: ", START + 1);
    assert!(
        told.starts_with(&begin) && told.contains("→ active 33"),
        "{told}"
    );
}

#[tokio::test]
async fn an_abort_out_of_reach_is_told_until_all_know_of_it() {
    let engine = MemoryEngine::new();
    let one = Replica::join(&engine).await;
    let before = texts(&one.control).len();
    engine.all_suffer(Fault::OutOfReach);
    one.run(abort("bbb", None)).await.unwrap();
    engine.all_suffer(None);
    one.sync().await;
    let told = texts(&one.control).split_off(before);
    let parts = [
        "the shared state is out of reach: ",
        "abort by a test, revision ",
        "all know of the abort",
        "the shared state is in reach",
    ];
    for part in parts {
        assert!(
            told.iter().any(|told| told.starts_with(part)),
            "{part}: {told:?}"
        );
    }
}
