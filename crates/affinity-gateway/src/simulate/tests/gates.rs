//! A gate holds a step until the verdict is in, and ends a plan that makes it worse.

use super::*;

const STEPS: &str = "[[step]]\nweights = { \"9f1c2ab\" = 80, \"c3d4e5f\" = 20 }\nhold = \"15m\"\n\
    gate = \"no_worse\"\n[[step]]\npromote = \"c3d4e5f\"\nhold = \"1m\"\n";

fn gated(failures: &str) -> Report {
    play(STEADY, &format!("[failures]\n{failures}\n{STEPS}"))
}

#[test]
fn a_canary_that_is_as_good_passes_once_that_is_sure() {
    let report = gated("sessions = { \"9f1c2ab\" = 0.02, \"c3d4e5f\" = 0.02 }");
    let step = &report.steps[2 - 1];
    let gate = step.gate.as_ref().unwrap();
    assert_eq!(gate.verdict, "no_worse", "{gate:?}");
    assert_eq!(
        step.lasts_secs, gate.after_secs,
        "the step goes on until then"
    );
    assert!(
        step.lasts_secs > 900.0,
        "9,000 sessions are not enough: {gate:?}"
    );
    let canary = &gate.canaries[0];
    let played = report.group(1, NEW).assigned;
    assert_eq!(canary.sessions, played, "others were judged than played");
    assert!(canary.upper < 0.01 && canary.upper > 0.0, "{canary:?}");
    assert_eq!(report.stopped, None);
    assert_eq!(report.steps.len(), 3, "the plan goes on");
}

#[test]
fn a_step_lasts_as_long_as_it_says_if_the_verdict_is_in_before() {
    let report = gated("sessions = { \"9f1c2ab\" = 0.3, \"c3d4e5f\" = 0.1 }");
    let step = &report.steps[1];
    let gate = step.gate.as_ref().unwrap();
    assert_eq!(
        (gate.verdict, step.lasts_secs.round()),
        ("better", 900.0),
        "{gate:?}"
    );
}

#[test]
fn a_canary_that_is_worse_ends_the_plan() {
    let report = gated("sessions = { \"9f1c2ab\" = 0.02, \"c3d4e5f\" = 0.1 }");
    assert_eq!(report.stopped, Some(1));
    assert_eq!(report.steps.len(), 2, "nothing is promoted");
    let gate = report.steps[1].gate.as_ref().unwrap();
    assert_eq!(gate.verdict, "worse");
    assert!(
        gate.after_secs < 900.0,
        "it does not wait for the end: {gate:?}"
    );
}

#[test]
fn all_requests_show_something_else_where_older_sessions_fail() {
    let failures = "sessions = { \"9f1c2ab\" = 0.02, \"c3d4e5f\" = 0.02 }\nolder = 0.5";
    let report = gated(failures);
    let canary = &report.steps[1].gate.as_ref().unwrap().canaries[0];
    assert_eq!(canary.verdict, "no_worse", "{canary:?}");
    assert!(canary.naive < 0.0, "the canary seems better: {canary:?}");
}

#[test]
fn failures_do_not_change_the_course_of_sessions() {
    let steps = STEPS.replace("gate = \"no_worse\"\n", "");
    let without = play(STEADY, &steps);
    let failures = "[failures]\nsessions = { \"9f1c2ab\" = 0.5 }\n";
    assert_eq!(play(STEADY, &format!("{failures}{steps}")), without);
}

#[test]
fn a_gate_without_a_canary_is_refused() {
    let steps = "[failures]\nsessions = {}\n[[step]]\nhold = \"1m\"\ngate = \"no_worse\"\n";
    assert_eq!(refusal(steps), PlanError::NothingToJudge { step: 1 });
}

#[test]
fn steps_that_are_shorter_than_sessions_are_doubtful() {
    let settings = settings("");
    let doubts = |hold: &str| {
        let steps = STEPS.replace("15m", hold);
        let failures = "[failures]\nsessions = { \"c3d4e5f\" = 0.01 }\n";
        plan(&settings, &format!("{STEADY}{failures}{steps}")).doubts()
    };
    assert!(doubts("10m").is_empty());
    let doubts = doubts("9m");
    assert!(
        doubts.len() == 1 && doubts[0].starts_with("step 1: hold (9m)"),
        "{doubts:?}"
    );
}
