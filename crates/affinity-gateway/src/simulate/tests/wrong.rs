//! Plans that cannot be played: one message that says where, what, and what is accepted.

use super::*;

const STEP: &str = "[[step]]\nhold = \"10m\"\n";

fn told(text: &str) -> String {
    let error = Plan::parse(text, &settings("")).expect_err(text);
    error.to_string()
}

#[test]
fn a_mistake_is_told_with_its_line_key_and_value() {
    for (steps, key, what) in [
        (
            "[[step]]\nhold = \"10m\"\nwieghts = { }\n",
            "step[0].wieghts",
            "not a known key",
        ),
        ("[[step]]\nhold = \"-1s\"\n", "step[0].hold", "\"-1s\""),
        ("[[step]]\nhold = 10\n", "step[0].hold", "a duration"),
        ("[[step]]\nhold = \"0s\"\n", "step[0].hold", "from 1s"),
        (
            "[[step]]\npromote = \"c3d4e5f\"\n",
            "step[0].hold",
            "is missing",
        ),
        (
            "[[step]]\nhold = \"1m\"\npromote = \"0000000\"\n",
            "step[0].promote",
            "9f1c2ab, c3d4e5f",
        ),
        (
            "[[step]]\nhold = \"1m\"\nweights = { \"0000000\" = 1 }\n",
            "step[0].weights.0000000",
            "9f1c2ab, c3d4e5f",
        ),
        (
            "[[step]]\nhold = \"1m\"\nweights = { \"9f1c2ab\" = -1 }\n",
            "step[0].weights.9f1c2ab",
            "from 0 to 10000",
        ),
        (
            "[[step]]\nhold = \"1m\"\nweights = { }\n",
            "step[0].weights",
            "names no group",
        ),
        (
            "[[step]]\nhold = \"1m\"\ndrain = \"9f1c2ab\"\nabort = \"c3d4e5f\"\n",
            "step[0].abort",
            "one change in a step",
        ),
        (
            "[[step]]\nhold = \"1m\"\nto = \"9f1c2ab\"\n",
            "step[0].to",
            "together with abort",
        ),
        (
            "[[step]]\nuntil = \"bored\"\n",
            "step[0].until",
            "\"drained\"",
        ),
        (
            "[failures]\nsessions = { \"0000000\" = 0.1 }\n[[step]]\nhold = \"1m\"\n",
            "failures.sessions.0000000",
            "9f1c2ab, c3d4e5f",
        ),
        (
            "[failures]\nsessions = { \"9f1c2ab\" = 1.5 }\n[[step]]\nhold = \"1m\"\n",
            "failures.sessions.9f1c2ab",
            "at most 1",
        ),
        (
            "[failures]\nolder = 0.5\n[[step]]\nhold = \"1m\"\n",
            "failures.sessions",
            "is missing",
        ),
        (
            "[[step]]\nhold = \"1m\"\ngate = \"luck\"\n",
            "step[0].gate",
            "\"analysis\"",
        ),
    ] {
        let told = told(&format!("{STEADY}{steps}"));
        let line = told.starts_with("line ") && told.contains(key);
        assert!(line && told.contains(what), "{steps}: {told}");
    }
}

#[test]
fn a_gate_needs_failures_to_look_at() {
    let told = told(&format!("{STEADY}{STEP}gate = \"no_worse\"\n"));
    assert!(told.starts_with("failures: is missing"), "{told}");
}

#[test]
fn a_plan_needs_steps_and_traffic() {
    assert!(
        told(STEADY).starts_with("step: is missing"),
        "{}",
        told(STEADY)
    );
    assert!(
        told(STEP).starts_with("traffic: is missing"),
        "{}",
        told(STEP)
    );
    assert!(told("").contains("is missing"));
}

#[test]
fn traffic_that_is_none_is_refused() {
    for (right, wrong, key) in [
        ("= 10\n", "= 0\n", "traffic.arrivals_per_second"),
        ("= 10\n", "= -3.5\n", "traffic.arrivals_per_second"),
        ("= 10\n", "= nan\n", "traffic.arrivals_per_second"),
        ("= 10\n", "= 1000000\n", "traffic"),
        ("\"10m\"", "\"0s\"", "traffic.length.mean"),
        (
            "\"fixed\", mean = \"10m\"",
            "\"lognormal\", p50 = \"10m\"",
            "traffic.length.p95",
        ),
        (
            "\"fixed\", mean = \"10m\"",
            "\"normal\"",
            "traffic.length.distribution",
        ),
        (
            "\"fixed\", mean = \"10s\"",
            "\"lognormal\"",
            "traffic.think.distribution",
        ),
        ("[traffic]", "[traffic]\npath = 1", "traffic.path"),
    ] {
        let told = told(&format!("{}{STEP}", STEADY.replacen(right, wrong, 1)));
        assert!(told.contains(&format!(" {key}")), "{wrong}: {told}");
    }
    let backwards = "\"lognormal\", p50 = \"10m\", p95 = \"9m\"";
    let traffic = STEADY.replacen("\"fixed\", mean = \"10m\"", backwards, 1);
    assert!(told(&format!("{traffic}{STEP}")).contains("at least p50"));
}

#[test]
fn a_path_whose_sessions_are_not_pinned_is_refused() {
    let assets = settings("[[scope]]\npath = \"/static/*\"\naffinity = \"follow\"\n");
    for (path, accepted) in [("/static/a.js", false), ("/elsewhere", false)] {
        let text = format!(
            "{}{STEP}",
            STEADY.replacen("[traffic]", &format!("[traffic]\npath = \"{path}\""), 1)
        );
        assert_eq!(Plan::parse(&text, &assets).is_ok(), accepted, "{path}");
    }
}

#[test]
fn a_step_that_a_rule_forbids_is_told_by_the_rule() {
    let refused = |steps: &str| refusal(steps).to_string();
    let told = refused(&format!(
        "{STEP}[[step]]\nhold = \"1m\"\ndrain = \"9f1c2ab\"\n"
    ));
    assert_eq!(
        told,
        "step 2 (drain 9f1c2ab): 9f1c2ab is the stable group; promote another one first"
    );
    let told = refused("[[step]]\nhold = \"1m\"\nweights = { \"9f1c2ab\" = 0 }\n");
    assert!(
        told.contains("step 1 (weights 9f1c2ab=0)") && told.contains("would be 0"),
        "{told}"
    );
    let again = "[[step]]\nabort = \"c3d4e5f\"\nhold = \"1m\"\n\
        [[step]]\nweights = { \"c3d4e5f\" = 1 }\nhold = \"1m\"\n";
    let told = refused(again);
    assert!(
        told.starts_with("step 2") && told.contains("is aborted"),
        "{told}"
    );
}

#[test]
fn a_step_that_waits_for_nothing_is_refused() {
    let told = refusal("[[step]]\nuntil = \"drained\"\n");
    assert_eq!(told, PlanError::NothingDrains { step: 1 });
}
