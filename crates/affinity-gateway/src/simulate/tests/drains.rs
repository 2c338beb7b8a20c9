//! When a group is drained, by the rule's own answer.

use tower_affinity::core::Timestamp;

use super::*;
use crate::simulate::play::{EPOCH, Play};
use crate::simulate::rules::Rules;

const DRAIN: &str = "[[step]]\npromote = \"c3d4e5f\"\nuntil = \"drained\"\n";

#[test]
fn a_step_lasts_until_its_group_is_drained() {
    for traffic in [STEADY, MEMORYLESS] {
        let report = play(traffic, DRAIN);
        let (step, old) = (&report.steps[1], report.group(1, OLD));
        let drain = old.drain.expect("it drains");
        assert!(drain.done && old.pinned == 0, "{old:?}");
        let over = step.lasts_secs - drain.takes_secs;
        assert!(
            (0.0005..0.0015).contains(&over),
            "a millisecond later: {over}"
        );
        // the last pin is renewed within the last 10 minutes of a session, and lives for 20
        assert!(drain.takes_secs > 20.0 * 60.0, "{drain:?}");
    }
}

#[test]
fn a_group_is_not_drained_while_its_pins_are_valid() {
    let steps = "[[step]]\npromote = \"c3d4e5f\"\nhold = \"15m\"\n[[step]]\nhold = \"30m\"\n";
    let report = play(STEADY, steps);
    let [first, second] = [1, 2].map(|step| report.group(step, OLD).drain.expect("it drains"));
    // no session is left after 10 minutes, but a client could still come back
    assert_eq!(report.group(1, OLD).pinned, 0);
    assert!(!first.done && second.done);
    assert_eq!(
        first.takes_secs, second.takes_secs,
        "nothing else was changed"
    );
}

#[test]
fn what_is_told_beforehand_is_what_the_rollout_says_afterwards() {
    let settings = settings("");
    for traffic in [STEADY, MEMORYLESS] {
        let plan = plan(&settings, &format!("{traffic}{DRAIN}"));
        let rules = Rules::new(&settings, "/", EPOCH).unwrap();
        let rollout = rules.rollout.clone();
        let begins = EPOCH.plus(plan.traffic.warm_up);
        let mut play = Play::new(&plan, rules, begins, 7);
        play.pass(&rollout, begins);
        let turn = plan.steps[0].turn.as_ref().unwrap();
        let change = play.rules.change(&rollout, begins);
        let rollout = turn.apply(&rollout, &play.rules, change).unwrap();
        let old = play.rules.ids[0].clone();
        let told = play.drained_after(&rollout, &old).unwrap();

        let tally = play.pass(&rollout, Timestamp::from_millis(told.as_millis() + 1));
        let last = tally.last_expiry[0];
        assert!(
            told >= last.unwrap(),
            "drained before the last pin was over"
        );
        let max_age = play.rules.max_age();
        let said = rollout.drained_after(old.name(), last, max_age, play.rules.skew);
        assert_eq!(said, Some(told));
    }
}
