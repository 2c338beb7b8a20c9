//! Rules 4, 6 and 11: a valid pin to a group in each state.

use super::ask::{Ask, abort, check, town};
use crate::fixtures::{View, after, at, id, name};
use crate::{AbortPolicy, AbortRequest, Rollout};

#[test]
fn a_valid_pin_is_obeyed_while_its_group_serves() {
    check([
        ("active", Ask::p("A", 10), "pinned/ok A current keep"),
        (
            "active, little weight",
            Ask::p("B", 10),
            "pinned/ok B current keep",
        ),
        (
            "strict makes no difference",
            Ask::p("B", 10).strict(),
            "pinned/ok B current keep",
        ),
        (
            "assigned before the last step",
            Ask::p("B", 9),
            "pinned/ok B established keep",
        ),
        (
            "draining",
            Ask::p("C", 9),
            "pinned/draining C established keep",
        ),
        ("staged", Ask::p("D", 9), "pinned/ok D established keep"),
        ("due", Ask::p("B", 10).now(450), "pinned/ok B current issue"),
        (
            "not yet due",
            Ask::p("B", 10).now(449),
            "pinned/ok B current keep",
        ),
    ]);
}

#[test]
fn c017_c068_c097_weight_zero_keeps_pinned_sessions() {
    let shares = crate::fixtures::weights(&[("A", 0), ("B", 100)]);
    let zero = town().weights(&shares, after(&town(), at(0))).unwrap();
    let ask = Ask::p("A", 9).rollout(zero);
    assert_eq!(ask.answer(), "pinned/ok A established keep");
}

#[test]
fn c033_c120_a_pin_names_a_commit_and_not_a_role() {
    let promoted = town().promote(&name("B"), after(&town(), at(0))).unwrap();
    let next = promoted
        .register(
            &name("X"),
            crate::fixtures::weight(5),
            after(&promoted, at(1)),
        )
        .unwrap();
    for (row, rollout) in [
        ("before", town()),
        ("promoted", promoted),
        ("next canary", next),
    ] {
        let answer = Ask::p("B", 9).rollout(rollout).answer();
        assert_eq!(answer, "pinned/ok B established keep", "{row}");
    }
}

#[test]
fn an_aborted_group_is_never_obeyed_again() {
    check([
        ("move", Ask::p("E", 9), "moved/aborted A moved issue"),
        (
            "move, strict",
            Ask::p("E", 9).strict(),
            "moved/aborted A moved issue",
        ),
        (
            "move, the pin is above us",
            Ask::p("E", 99),
            "moved/aborted A moved issue",
        ),
        (
            "move, not ready target",
            Ask::p("E", 9).down(&["A"], 60),
            "moved/aborted A moved issue",
        ),
        (
            "end",
            Ask::p("G", 9),
            "refused/aborted_end G established keep",
        ),
        (
            "end, the pin is above us",
            Ask::p("G", 99),
            "refused/aborted_end G current keep",
        ),
    ]);
}

#[test]
fn stay_serves_until_its_deadline_and_moves_then() {
    check([
        (
            "running",
            Ask::p("F", 9),
            "pinned/aborted_stay F established keep",
        ),
        (
            "running, above us",
            Ask::p("F", 99),
            "pinned/aborted_stay F current keep",
        ),
        (
            "last second, renewed",
            Ask::p("F", 9).now(599),
            "pinned/aborted_stay F established issue",
        ),
        (
            "over",
            Ask::p("F", 9).now(600),
            "moved/aborted A moved issue",
        ),
        (
            "lost: its destination",
            Ask::p("F", 9).down(&["F"], 10),
            "moved/group_down A moved issue",
        ),
        (
            "down within the grace",
            Ask::p("F", 9).down(&["F"], 9),
            "pinned/aborted_stay F established keep",
        ),
        (
            "lost, strict",
            Ask::p("F", 9).strict().down(&["F"], 10),
            "pinned/aborted_stay F established keep",
        ),
    ]);
}

#[test]
fn a_retired_or_unknown_group_is_left_by_weights() {
    check([
        ("retired", Ask::p("R", 9), "moved/gone B moved issue"),
        ("unknown", Ask::unknown(9), "moved/gone B moved issue"),
        (
            "unknown, of our very revision",
            Ask::unknown(10),
            "moved/gone B moved issue",
        ),
        (
            "retired, B not ready",
            Ask::p("R", 9).down(&["B"], 0),
            "moved/gone A moved issue",
        ),
        (
            "retired, nothing ready",
            Ask::p("R", 9).down(&["A", "B"], 0),
            "refused/no_ready none established keep",
        ),
        (
            "retired, strict",
            Ask::p("R", 9).strict(),
            "refused/gone R established keep",
        ),
        (
            "unknown, strict",
            Ask::unknown(9).strict(),
            "refused/gone none established keep",
        ),
    ]);
}

#[test]
fn an_old_generation_does_not_reach_the_restored_group() {
    let restored = town().restore(&name("R"), after(&town(), at(0))).unwrap();
    let active = restored
        .weights(
            &crate::fixtures::weights(&[("R", 10)]),
            after(&restored, at(1)),
        )
        .unwrap();
    let decision = Ask::p("R", 9).rollout(active).decision();
    assert_eq!(decision.cause.as_str(), "gone");
    assert_ne!(decision.group, Some(id("R", 1)));
}

#[test]
fn a_restored_group_does_not_take_back_its_aborted_sessions() {
    let restored = town().restore(&name("E"), after(&town(), at(0))).unwrap();
    let answer = Ask::p("E", 9).rollout(restored).answer();
    assert_eq!(answer, "moved/aborted A moved issue");
}

fn abort_to(rollout: &Rollout, group: &str, to: &str) -> Rollout {
    let request = AbortRequest {
        to: Some(name(to)),
        ..AbortRequest::default()
    };
    let change = after(rollout, at(0));
    rollout
        .abort(&name(group), &request, &View::default(), change)
        .unwrap()
}

#[test]
fn a_chain_of_aborts_ends_at_the_first_active_target() {
    // C goes to B; then B goes to A: a session of C that slept meanwhile lands on A at once
    let chain = abort_to(&abort_to(&town(), "C", "B"), "B", "A");
    for group in ["B", "C"] {
        let answer = Ask::p(group, 9).rollout(chain.clone()).answer();
        assert_eq!(
            answer, "moved/aborted A moved issue",
            "a session of {group}"
        );
    }
}

#[test]
fn a_chain_does_not_end_at_the_stable_group_if_its_last_target_is_another() {
    let town = town();
    let shares = crate::fixtures::weights(&[("D", 5)]);
    let active = town.weights(&shares, after(&town, at(0))).unwrap();
    let chain = abort_to(&abort_to(&active, "C", "B"), "B", "D");
    let answer = Ask::p("C", 9).rollout(chain).answer();
    assert_eq!(answer, "moved/aborted D moved issue");
}

#[test]
fn a_chain_survives_the_restore_of_its_middle() {
    let chain = abort_to(&abort_to(&town(), "C", "B"), "B", "A");
    let restored = chain.restore(&name("B"), after(&chain, at(1))).unwrap();
    let shares = crate::fixtures::weights(&[("B", 50)]);
    let active = restored.weights(&shares, after(&restored, at(2))).unwrap();
    let answer = Ask::p("C", 9).rollout(active).answer();
    assert_eq!(
        answer, "moved/aborted A moved issue",
        "the new B is not the target of old"
    );
}

#[test]
fn a_target_that_drains_or_is_gone_is_replaced_by_the_stable_group() {
    let aborted = abort_to(&town(), "C", "B");
    let drained = aborted.drain(&name("B"), after(&aborted, at(1))).unwrap();
    let retired = drained
        .retire(&name("B"), None, true, after(&drained, at(2)))
        .unwrap();
    for (row, rollout) in [
        ("active", aborted),
        ("draining", drained),
        ("retired", retired),
    ] {
        let expected = if row == "active" { "B" } else { "A" };
        let answer = Ask::p("C", 9).rollout(rollout).answer();
        assert_eq!(
            answer,
            format!("moved/aborted {expected} moved issue"),
            "target {row}"
        );
    }
}

#[test]
fn an_abort_of_the_stable_group_moves_its_sessions_to_the_former_one() {
    let promoted = town().promote(&name("B"), after(&town(), at(0))).unwrap();
    let aborted = abort(&promoted, "B", AbortPolicy::Move);
    check([
        (
            "a session of B",
            Ask::p("B", 9).rollout(aborted.clone()),
            "moved/aborted A moved issue",
        ),
        (
            "a session of A",
            Ask::p("A", 9).rollout(aborted),
            "pinned/ok A established keep",
        ),
    ]);
}
