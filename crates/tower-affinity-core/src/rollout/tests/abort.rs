//! Abort: its target, its policies, and what a repeated one does.

use super::shape::{first, promote, register, shape, told, town, weigh};
use crate::fixtures::{View, at, id, name, rollout};
use crate::{Abort, AbortPolicy, AbortRequest, Change, Refusal, Rollout, State, Status, Timestamp};

fn abort_with(
    rollout: &Rollout,
    group: &str,
    request: &AbortRequest,
    down: &[&str],
) -> Result<Rollout, Refusal> {
    rollout.abort(
        &name(group),
        request,
        &View::down(down, at(0)),
        first(rollout),
    )
}

fn abort(rollout: &Rollout, group: &str) -> Result<Rollout, Refusal> {
    abort_with(rollout, group, &AbortRequest::default(), &[])
}

fn to(target: &str) -> AbortRequest {
    AbortRequest {
        to: Some(name(target)),
        ..AbortRequest::default()
    }
}

fn with(policy: AbortPolicy) -> AbortRequest {
    AbortRequest {
        policy: Some(policy),
        ..AbortRequest::default()
    }
}

fn facts<'a>(rollout: &'a Rollout, group: &str) -> &'a Abort {
    match rollout.group(&name(group)).unwrap().state() {
        State::Aborted(abort) => abort,
        other => panic!("{group} is {}", other.name()),
    }
}

#[test]
fn the_target_takes_the_weight_and_is_stable_if_the_group_was() {
    let town = town();
    let rest = "D staged 0, E aborted 0, R retired 0 step";
    for (row, group, request, expected) in [
        (
            "to the stable one",
            "B",
            AbortRequest::default(),
            "A* active 100, B aborted 0, C draining 0",
        ),
        (
            "named, draining",
            "B",
            to("C"),
            "A* active 90, B aborted 0, C active 10",
        ),
        (
            "a draining one",
            "C",
            AbortRequest::default(),
            "A* active 90, B active 10, C aborted 0",
        ),
        (
            "stable, named",
            "A",
            to("B"),
            "A aborted 0, B* active 100, C draining 0",
        ),
        (
            "stable, to a draining one",
            "A",
            to("C"),
            "A aborted 0, B active 10, C* active 90",
        ),
        (
            "no weight: at least 1",
            "C",
            to("B"),
            "A* active 90, B active 10, C aborted 0",
        ),
    ] {
        let result = abort_with(&town, group, &request, &[]);
        assert_eq!(told(&town, result), format!("{expected}, {rest}"), "{row}");
    }
}

#[test]
fn the_target_has_at_least_weight_one() {
    let promoted = promote(&town(), "B").unwrap();
    let zero = weigh(&promoted, &[("A", 1), ("B", 0)]).unwrap();
    let aborted = abort_with(&zero, "B", &to("C"), &[]).unwrap();
    assert_eq!(
        shape(&aborted),
        "A active 1, B aborted 0, C* active 1, D staged 0, E aborted 0, R retired 0"
    );
}

#[test]
fn a_staged_group_can_be_aborted_too() {
    let aborted = abort(&town(), "D").unwrap();
    assert_eq!(facts(&aborted, "D").target, id("A", 1));
    assert!(
        shape(&aborted).contains("A* active 90"),
        "{}",
        shape(&aborted)
    );
}

#[test]
fn refusals_say_what_stands_against_it_and_which_targets_there_are() {
    let town = town();
    for (row, group, request, down, expected) in [
        (
            "unknown",
            "Z",
            AbortRequest::default(),
            &[][..],
            "no group is named Z; there are: A, B, C, D, E, R",
        ),
        (
            "retired",
            "R",
            AbortRequest::default(),
            &[],
            "R is retired; abort needs a group that is staged, active or draining",
        ),
        (
            "unknown target",
            "B",
            to("Z"),
            &[],
            "no group is named Z; there are: A, B, C, D, E, R",
        ),
        (
            "staged target",
            "B",
            to("D"),
            &[],
            "D cannot take the sessions of B: it is staged; possible targets: A, C",
        ),
        (
            "aborted target",
            "B",
            to("E"),
            &[],
            "E cannot take the sessions of B: it is aborted; possible targets: A, C",
        ),
        (
            "retired target",
            "B",
            to("R"),
            &[],
            "R cannot take the sessions of B: it is retired; possible targets: A, C",
        ),
        (
            "itself",
            "B",
            to("B"),
            &[],
            "B cannot take the sessions of B: it is the group that is aborted; possible targets: A, C",
        ),
        (
            "target not ready",
            "B",
            to("C"),
            &["C"],
            "C cannot take the sessions of B: it has no ready endpoint (can be forced); possible targets: A",
        ),
        (
            "stable not ready",
            "B",
            AbortRequest::default(),
            &["A"],
            "A cannot take the sessions of B: it has no ready endpoint (can be forced); possible targets: C",
        ),
        (
            "nothing ready",
            "B",
            AbortRequest::default(),
            &["A", "C"],
            "A cannot take the sessions of B: it has no ready endpoint (can be forced); there is no other group that could",
        ),
        (
            "never another stable",
            "A",
            AbortRequest::default(),
            &[],
            "no former stable group can take the sessions of A; name a target: B, C",
        ),
        (
            "deadline",
            "B",
            with(AbortPolicy::Stay {
                until: at(60 + 14_401),
            }),
            &[],
            "the deadline is 14401s away; a session lives at most 14400s",
        ),
    ] {
        let refusal = abort_with(&town, group, &request, down).unwrap_err();
        assert_eq!(refusal.to_string(), expected, "{row}");
    }
}

#[test]
fn force_skips_only_readiness() {
    let town = town();
    let forced = |target: &str| AbortRequest {
        force: true,
        ..to(target)
    };
    let unready = abort_with(&town, "B", &to("C"), &["C"]).unwrap_err();
    assert!(unready.can_be_forced());
    let aborted = abort_with(&town, "B", &forced("C"), &["C"]).unwrap();
    assert_eq!(facts(&aborted, "B").target, id("C", 1));
    for target in ["D", "E", "R", "B", "Z"] {
        let refusal = abort_with(&town, "B", &forced(target), &[]).unwrap_err();
        assert!(!refusal.can_be_forced(), "{refusal}");
    }
}

/// A, then B, then C were stable; D is now. B drains, A and C too.
fn history() -> Rollout {
    ["B", "C", "D"]
        .iter()
        .fold(rollout(&[("A", 1)]), |rollout, group| {
            let rollout = register(&rollout, group, 0).unwrap();
            promote(&rollout, group).unwrap()
        })
}

#[test]
fn without_a_name_the_latest_former_stable_group_that_can_takes_over() {
    let history = history();
    let target = |rollout: &Rollout, down: &[&str]| {
        let aborted = abort_with(rollout, "D", &AbortRequest::default(), down).unwrap();
        facts(&aborted, "D").target.name().to_string()
    };
    assert_eq!(target(&history, &[]), "C");
    assert_eq!(target(&history, &["C"]), "B", "C is not ready");
    let aborted = abort(&history, "C").unwrap();
    assert_eq!(target(&aborted, &[]), "B", "C is aborted");
    let retired = history
        .retire(&name("C"), None, true, first(&history))
        .unwrap();
    assert_eq!(
        target(&retired, &["B"]),
        "A",
        "C is retired, B is not ready"
    );
}

#[test]
fn if_only_readiness_is_missing_the_refusal_can_be_forced() {
    let history = history();
    let down = ["A", "B", "C"];
    let refusal = abort_with(&history, "D", &AbortRequest::default(), &down).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "C cannot take the sessions of D: it has no ready endpoint (can be forced); \
         there is no other group that could"
    );
    assert!(refusal.can_be_forced());
    let force = AbortRequest {
        force: true,
        ..AbortRequest::default()
    };
    let forced = abort_with(&history, "D", &force, &down).unwrap();
    assert_eq!(facts(&forced, "D").target, id("C", 1));
}

#[test]
fn an_only_group_cannot_be_aborted() {
    let refusal = abort(&rollout(&[("A", 1)]), "A").unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "no former stable group can take the sessions of A; there is no other group that could"
    );
}

#[test]
fn a_second_abort_is_the_same_answer() {
    let once = abort(&town(), "B").unwrap();
    assert_eq!(abort(&once, "B").unwrap(), once);
    let named = abort_with(&once, "B", &to("A"), &[]).unwrap();
    assert_eq!(named, once);
    let same = abort_with(&once, "B", &with(AbortPolicy::Move), &["A", "C"]).unwrap();
    assert_eq!(same, once, "it needs no ready target");
}

#[test]
fn a_second_abort_with_another_target_is_refused() {
    let once = abort(&town(), "B").unwrap();
    let forced = AbortRequest {
        force: true,
        ..to("C")
    };
    let refusal = abort_with(&once, "B", &forced, &["A", "C"]).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "B is aborted and its sessions go to A: the target of an abort never changes; repeat it \
         without a target"
    );
    assert!(!refusal.can_be_forced());
}

#[test]
fn another_policy_or_deadline_replaces_the_old_one_and_nothing_else() {
    let stay = |secs| with(AbortPolicy::Stay { until: at(secs) });
    let first = abort_with(&town(), "B", &stay(600), &[]).unwrap();
    let longer = abort_with(&first, "B", &stay(900), &[]).unwrap();
    assert_eq!(longer.revision(), first.revision().next());
    assert_eq!(
        longer.step_revision(),
        first.step_revision(),
        "no weight has changed"
    );
    assert_eq!(shape(&longer), shape(&first));
    assert_eq!(
        facts(&longer, "B").policy,
        AbortPolicy::Stay { until: at(900) }
    );
    let ended = abort_with(&longer, "B", &with(AbortPolicy::End), &[]).unwrap();
    assert_eq!(
        facts(&ended, "B"),
        &Abort {
            policy: AbortPolicy::End,
            ..facts(&first, "B").clone()
        }
    );
    let unnamed = abort(&ended, "B").unwrap();
    assert_eq!(unnamed, ended, "no policy asked for: the present one stays");
}

#[test]
fn a_deadline_of_exactly_the_whole_lifetime_is_allowed() {
    let stay = with(AbortPolicy::Stay {
        until: at(60 + 14_400),
    });
    let aborted = abort_with(&town(), "B", &stay, &[]).unwrap();
    assert!(facts(&aborted, "B").stays(at(60 + 14_399)));
    assert!(
        !facts(&aborted, "B").stays(at(60 + 14_400)),
        "the deadline itself is over"
    );
}

#[test]
fn an_answer_from_an_aborted_group_is_not_used_except_under_stay() {
    let moved = abort(&town(), "B").unwrap();
    assert!(moved.is_aborted(&id("B", 1), at(60)));
    assert!(!moved.is_aborted(&id("A", 1), at(60)));
    let stays = abort_with(
        &town(),
        "B",
        &with(AbortPolicy::Stay { until: at(600) }),
        &[],
    )
    .unwrap();
    assert!(!stays.is_aborted(&id("B", 1), at(599)));
    assert!(stays.is_aborted(&id("B", 1), at(600)));
}

#[test]
fn a_second_abort_after_a_restore_is_a_new_one() {
    let once = abort_with(&town(), "B", &with(AbortPolicy::End), &[]).unwrap();
    let restored = once.restore(&name("B"), first(&once)).unwrap();
    let active = weigh(&restored, &[("B", 5)]).unwrap();
    let again = abort_with(&active, "B", &to("C"), &[]).unwrap();
    let Status::Aborted(old) = again.status(&id("B", 1)) else {
        panic!("the first abort is forgotten");
    };
    assert_eq!((old.policy, &old.target), (AbortPolicy::End, &id("A", 1)));
    assert_eq!(facts(&again, "B").target, id("C", 1));
}

#[test]
fn crossed_aborts_end_somewhere() {
    // each group's target was aborted later, the last one to the first name's new generation
    let chain = abort_with(&town(), "C", &to("B"), &[]).unwrap();
    let chain = abort(&chain, "B").unwrap();
    let chain = chain.restore(&name("C"), first(&chain)).unwrap();
    let chain = weigh(&chain, &[("C", 5)]).unwrap();
    let chain = abort_with(&chain, "A", &to("C"), &[]).unwrap();
    for group in ["A", "B", "C"] {
        let Status::Aborted(abort) = chain.status(&id(group, 1)) else {
            panic!("{group} is not aborted");
        };
        assert_eq!(chain.destination(abort), id("C", 2), "from {group}");
    }
}

#[test]
fn the_time_of_the_abort_is_that_of_the_change() {
    let now = Timestamp::from_millis(at(77).as_millis() + 5);
    let change = Change {
        now,
        ..first(&town())
    };
    let view = View::default();
    let aborted = town()
        .abort(&name("B"), &AbortRequest::default(), &view, change)
        .unwrap();
    assert_eq!(facts(&aborted, "B").at, now);
}
