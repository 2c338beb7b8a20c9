//! register, weights, promote, drain, restore and retire, as tables.

use std::time::Duration;

use super::shape::{drain, first, promote, register, restore, shape, told, town, weigh};
use crate::fixtures::{TA, after, at, id, name, rollout};
use crate::{Refusal, Revision, Rollout, Status};

type Verb = fn(&Rollout) -> Result<Rollout, Refusal>;

fn check<const N: usize>(table: [(&str, Verb, &str); N]) {
    for (row, verb, expected) in table {
        assert_eq!(told(&town(), verb(&town())), expected, "{row}");
    }
}

const REST: &str = "C draining 0, D staged 0, E aborted 0, R retired 0";

#[test]
fn register_stages_a_new_name_and_brings_a_retired_one_back() {
    check([
        (
            "new",
            |t| register(t, "X", 0),
            "A* active 90, B active 10, C draining 0, D staged 0, E aborted 0, R retired 0, X staged 0",
        ),
        (
            "new with weight",
            |t| register(t, "X", 5),
            "A* active 90, B active 10, C draining 0, D staged 0, E aborted 0, R retired 0, X active 5 step draw",
        ),
        (
            "retired",
            |t| register(t, "R", 0),
            "A* active 90, B active 10, C draining 0, D staged 0, E aborted 0, R#2 staged 0",
        ),
        (
            "retired with weight",
            |t| register(t, "R", 5),
            "A* active 90, B active 10, C draining 0, D staged 0, E aborted 0, R#2 active 5 step draw",
        ),
        (
            "active",
            |t| register(t, "A", 0),
            "refused: A is registered already (active); a name is immutable: register another one",
        ),
        (
            "staged",
            |t| register(t, "D", 5),
            "refused: D is registered already (staged); a name is immutable: register another one",
        ),
        (
            "draining",
            |t| register(t, "C", 0),
            "refused: C is registered already (draining); a name is immutable: register another one",
        ),
        (
            "aborted",
            |t| register(t, "E", 0),
            "refused: E is registered already (aborted); a name is immutable: register another one",
        ),
    ]);
}

#[test]
fn weights_change_the_named_groups_and_the_others_keep_theirs() {
    let with = |head: &str| format!("{head}, {REST} step draw");
    for (row, shares, expected) in [
        ("one", &[("B", 50)][..], with("A* active 90, B active 50")),
        (
            "two",
            &[("A", 1), ("B", 2)],
            with("A* active 1, B active 2"),
        ),
        (
            "zero keeps the state",
            &[("B", 0)],
            with("A* active 90, B active 0"),
        ),
        (
            "zero for the stable one",
            &[("A", 0)],
            with("A* active 0, B active 10"),
        ),
        (
            "the greatest",
            &[("B", 10_000)],
            with("A* active 90, B active 10000"),
        ),
        ("the same", &[("A", 90), ("B", 10)], "unchanged".to_owned()),
        ("none", &[], "unchanged".to_owned()),
        (
            "zero for a draining one",
            &[("C", 0)],
            "unchanged".to_owned(),
        ),
        ("zero for a staged one", &[("D", 0)], "unchanged".to_owned()),
    ] {
        assert_eq!(told(&town(), weigh(&town(), shares)), expected, "{row}");
    }
}

#[test]
fn a_weight_makes_a_staged_or_draining_group_active() {
    check([
        (
            "staged",
            |t| weigh(t, &[("D", 5)]),
            "A* active 90, B active 10, C draining 0, D active 5, E aborted 0, R retired 0 step draw",
        ),
        (
            "draining",
            |t| weigh(t, &[("C", 5)]),
            "A* active 90, B active 10, C active 5, D staged 0, E aborted 0, R retired 0 step draw",
        ),
    ]);
}

#[test]
fn weights_refuse_what_cannot_have_one() {
    check([
        (
            "aborted",
            |t| weigh(t, &[("E", 5)]),
            "refused: E is aborted; a weight needs a group that is staged, active or draining",
        ),
        (
            "aborted, zero",
            |t| weigh(t, &[("E", 0)]),
            "refused: E is aborted; a weight needs a group that is staged, active or draining",
        ),
        (
            "retired",
            |t| weigh(t, &[("R", 5)]),
            "refused: R is retired; a weight needs a group that is staged, active or draining",
        ),
        (
            "unknown",
            |t| weigh(t, &[("Z", 5)]),
            "refused: no group is named Z; there are: A, B, C, D, E, R",
        ),
        (
            "all zero",
            |t| weigh(t, &[("A", 0), ("B", 0)]),
            "refused: the weights of all active groups would be 0; leave one of them a weight",
        ),
        (
            "one of two is wrong: none is taken",
            |t| weigh(t, &[("A", 1), ("R", 5)]),
            "refused: R is retired; a weight needs a group that is staged, active or draining",
        ),
    ]);
}

#[test]
fn promote_gives_all_the_weight_and_drains_every_other_active_group() {
    check([
        (
            "active",
            |t| promote(t, "B"),
            "A draining 0, B* active 100, C draining 0, D staged 0, E aborted 0, R retired 0 step",
        ),
        (
            "staged",
            |t| promote(t, "D"),
            "A draining 0, B draining 0, C draining 0, D* active 100, E aborted 0, R retired 0 step",
        ),
        (
            "draining",
            |t| promote(t, "C"),
            "A draining 0, B draining 0, C* active 100, D staged 0, E aborted 0, R retired 0 step",
        ),
        (
            "the stable one ends the canary",
            |t| promote(t, "A"),
            "A* active 100, B draining 0, C draining 0, D staged 0, E aborted 0, R retired 0 step",
        ),
        (
            "twice",
            |t| promote(&promote(t, "B")?, "B"),
            "A draining 0, B* active 100, C draining 0, D staged 0, E aborted 0, R retired 0 step",
        ),
        (
            "aborted",
            |t| promote(t, "E"),
            "refused: E is aborted; promote needs a group that is staged, active or draining",
        ),
        (
            "retired",
            |t| promote(t, "R"),
            "refused: R is retired; promote needs a group that is staged, active or draining",
        ),
        (
            "unknown",
            |t| promote(t, "Z"),
            "refused: no group is named Z; there are: A, B, C, D, E, R",
        ),
    ]);
}

#[test]
fn drain_gives_the_weight_to_the_stable_group() {
    check([
        (
            "active",
            |t| drain(t, "B"),
            "A* active 100, B draining 0, C draining 0, D staged 0, E aborted 0, R retired 0 step",
        ),
        ("draining already", |t| drain(t, "C"), "unchanged"),
        (
            "stable",
            |t| drain(t, "A"),
            "refused: A is the stable group; promote another one first",
        ),
        (
            "staged",
            |t| drain(t, "D"),
            "refused: D is staged; drain needs a group that is active",
        ),
        (
            "aborted",
            |t| drain(t, "E"),
            "refused: E is aborted; drain needs a group that is active",
        ),
        (
            "retired",
            |t| drain(t, "R"),
            "refused: R is retired; drain needs a group that is active",
        ),
        (
            "unknown",
            |t| drain(t, "Z"),
            "refused: no group is named Z; there are: A, B, C, D, E, R",
        ),
    ]);
}

#[test]
fn an_active_group_of_weight_zero_can_drain_too() {
    let zero = rollout(&[("A", 5), ("B", 0)]);
    assert_eq!(
        told(&zero, drain(&zero, "B")),
        "A* active 5, B draining 0 step"
    );
}

#[test]
fn weights_that_would_pass_the_greatest_are_cut_there() {
    let heavy = rollout(&[("A", 10_000), ("B", 10_000)]);
    assert_eq!(
        told(&heavy, drain(&heavy, "B")),
        "A* active 10000, B draining 0 step"
    );
    assert_eq!(
        told(&heavy, promote(&heavy, "B")),
        "A draining 0, B* active 10000 step"
    );
}

#[test]
fn restore_brings_back_the_next_generation_as_staged() {
    check([
        (
            "aborted",
            |t| restore(t, "E"),
            "A* active 90, B active 10, C draining 0, D staged 0, E#2 staged 0, R retired 0",
        ),
        (
            "retired",
            |t| restore(t, "R"),
            "A* active 90, B active 10, C draining 0, D staged 0, E aborted 0, R#2 staged 0",
        ),
        (
            "active",
            |t| restore(t, "A"),
            "refused: A is active; restore needs a group that is aborted or retired",
        ),
        (
            "draining",
            |t| restore(t, "C"),
            "refused: C is draining; restore needs a group that is aborted or retired",
        ),
        (
            "staged",
            |t| restore(t, "D"),
            "refused: D is staged; restore needs a group that is aborted or retired",
        ),
        (
            "unknown",
            |t| restore(t, "Z"),
            "refused: no group is named Z; there are: A, B, C, D, E, R",
        ),
    ]);
}

fn retire(rollout: &Rollout, group: &str, force: bool) -> Result<Rollout, Refusal> {
    let by = rollout.drained_by(&name(group), TA, Duration::ZERO);
    rollout.retire(&name(group), by, force, first(rollout))
}

#[test]
fn retire_takes_what_has_no_session_left() {
    check([
        (
            "staged",
            |t| retire(t, "D", false),
            "A* active 90, B active 10, C draining 0, D retired 0, E aborted 0, R retired 0",
        ),
        (
            "aborted",
            |t| retire(t, "E", false),
            "A* active 90, B active 10, C draining 0, D staged 0, E retired 0, R retired 0",
        ),
        ("retired already", |t| retire(t, "R", false), "unchanged"),
        (
            "draining, forced",
            |t| retire(t, "C", true),
            "A* active 90, B active 10, C retired 0, D staged 0, E aborted 0, R retired 0",
        ),
        (
            "draining, not drained",
            |t| retire(t, "C", false),
            "refused: C is not drained before 2027-01-15T12:00:00Z; wait, or force it and move its sessions by weights",
        ),
        (
            "active",
            |t| retire(t, "B", false),
            "refused: B is active; retire needs a group that is staged, drained or aborted",
        ),
        (
            "active, forced",
            |t| retire(t, "B", true),
            "refused: B is active; retire needs a group that is staged, drained or aborted",
        ),
        (
            "unknown",
            |t| retire(t, "Z", false),
            "refused: no group is named Z; there are: A, B, C, D, E, R",
        ),
    ]);
}

#[test]
fn drained_is_bound_by_the_whole_lifetime_and_twice_the_skew() {
    let skew = Duration::from_secs(300);
    let draining = drain(&town(), "B").unwrap();
    assert_eq!(
        draining.drained_by(&name("B"), TA, skew),
        Some(at(60 + 14_400 + 600))
    );
    assert_eq!(
        draining.drained_by(&name("B"), TA, Duration::ZERO),
        Some(at(60 + 14_400))
    );
    for other in ["A", "D", "E", "R", "Z"] {
        assert_eq!(
            draining.drained_by(&name(other), TA, skew),
            None,
            "{other} does not drain"
        );
    }
}

#[test]
fn a_draining_group_is_retired_only_after_its_bound() {
    let by = town().drained_by(&name("C"), TA, Duration::ZERO).unwrap();
    let try_at = |now| town().retire(&name("C"), Some(by), false, after(&town(), now));
    assert!(
        matches!(try_at(by), Err(Refusal::NotDrained { .. })),
        "a pin could still be valid"
    );
    let retired = try_at(by.plus(Duration::from_millis(1))).unwrap();
    assert_eq!(retired.status(&id("C", 1)), Status::Gone);
}

#[test]
fn only_what_waits_for_something_can_be_forced() {
    assert!(retire(&town(), "C", false).unwrap_err().can_be_forced());
    for refusal in [
        retire(&town(), "B", false),
        drain(&town(), "A"),
        weigh(&town(), &[("A", 0), ("B", 0)]),
        register(&town(), "A", 0),
    ] {
        let refusal = refusal.unwrap_err();
        assert!(!refusal.can_be_forced(), "{refusal}");
    }
}

#[test]
fn draining_again_keeps_the_old_begin() {
    let since = drain(&town(), "B").unwrap();
    let again = since.drain(&name("B"), after(&since, at(5000))).unwrap();
    assert_eq!(again, since, "a repeated drain does not put the end off");
    let promoted = promote(&since, "A").unwrap();
    assert_eq!(
        promoted.drained_by(&name("B"), TA, Duration::ZERO),
        Some(at(60 + 14_400))
    );
}

#[test]
fn c047_only_weights_are_a_new_draw_and_promote_or_drain_a_new_step() {
    let town = town();
    let weighed = weigh(&town, &[("B", 20)]).unwrap();
    let drained = drain(&weighed, "B").unwrap();
    assert_eq!(
        (weighed.step_revision(), weighed.draw_revision()),
        (Revision(11), Revision(11))
    );
    assert_eq!(
        (drained.step_revision(), drained.draw_revision()),
        (Revision(12), Revision(11))
    );
    let registered = register(&drained, "X", 0).unwrap();
    assert_eq!(
        (registered.step_revision(), registered.revision()),
        (Revision(12), Revision(13))
    );
}

#[test]
fn the_last_eight_stable_groups_are_remembered_in_their_order() {
    let names: Vec<String> = (0..12).map(|n| format!("g{n}")).collect();
    let mut rollout = rollout(&[("g0", 1)]);
    for group in names.iter().skip(1) {
        rollout = register(&rollout, group, 0).unwrap();
        rollout = promote(&rollout, group).unwrap();
    }
    let former: Vec<&str> = rollout.former_stable().iter().map(|g| g.as_str()).collect();
    assert_eq!(former, ["g3", "g4", "g5", "g6", "g7", "g8", "g9", "g10"]);
    let back = promote(&rollout, "g5").unwrap();
    let former: Vec<&str> = back.former_stable().iter().map(|g| g.as_str()).collect();
    assert_eq!(
        former,
        ["g3", "g4", "g6", "g7", "g8", "g9", "g10", "g11"],
        "each is there once"
    );
}

#[test]
fn a_pin_raises_a_revision_and_never_lowers_it() {
    let raised = town().raised(Revision(99));
    assert_eq!(raised.revision(), Revision(99));
    assert_eq!(raised.raised(Revision(5)).revision(), Revision(99));
    assert_eq!(
        shape(&raised),
        shape(&town()),
        "the groups are as they were"
    );
    assert_eq!(raised.step_revision(), town().step_revision());
}
