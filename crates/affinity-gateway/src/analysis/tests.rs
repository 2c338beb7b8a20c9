//! Which groups are compared, and what is told of it when.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashMap;

use tower_affinity::core::analysis::{StepTally, Tally, Terms, Verdict};
use tower_affinity::core::{GroupId, Revision, Rollout, Timestamp};
use tower_affinity_testing::{START, after, id, name, rollout, weight};

use super::Judged;
use super::changes::{Changes, in_words};

const STABLE: (u64, u64) = (100, 10_000);

fn counted(step: Revision, (failed, sessions): (u64, u64)) -> StepTally {
    StepTally {
        step,
        since: Timestamp::from_secs(START),
        tally: Tally {
            sessions,
            failed,
            completed: sessions - failed,
            slow: 0,
            requests: sessions,
            failed_requests: failed,
        },
    }
}

fn judged(rollout: &Rollout, groups: &[(&str, (u64, u64))]) -> Judged {
    let step = rollout.step_revision();
    let groups: HashMap<GroupId, StepTally> = groups
        .iter()
        .map(|(group, counts)| (id(group), counted(step, *counts)))
        .collect();
    Judged::of(rollout, |id| groups.get(id).copied(), Terms::default()).unwrap()
}

fn two() -> Rollout {
    rollout(7, &[("a", 90), ("b", 10)])
}

#[test]
fn active_groups_with_weight_are_compared_with_the_stable_one() {
    let rollout = rollout(7, &[("a", 90), ("b", 10), ("c", 5), ("d", 0)]);
    let judged = judged(
        &rollout,
        &[("a", STABLE), ("b", (100, 1_000)), ("d", (900, 1_000))],
    );
    let canaries: Vec<_> = judged
        .canaries
        .iter()
        .map(|canary| (canary.id.clone(), canary.comparison.verdict))
        .collect();
    let expected = [(id("b"), Verdict::Worse), (id("c"), Verdict::NotEnoughYet)];
    assert_eq!(canaries, expected);
    assert_eq!(judged.since, Some(Timestamp::from_secs(START)));
}

#[test]
fn a_verdict_is_told_once_and_again_when_it_changes() {
    let rollout = two();
    let mut changes = Changes::default();
    let mut told = |canary: (u64, u64)| {
        let judged = judged(&rollout, &[("a", STABLE), ("b", canary)]);
        let changed = changes.of(&judged);
        changed.first().map(|canary| canary.comparison.verdict)
    };
    assert_eq!(told((0, 0)), None, "that nothing is known is no news");
    assert_eq!(told((10, 900)), None);
    assert_eq!(told((100, 1_000)), Some(Verdict::Worse));
    assert_eq!(told((101, 1_000)), None, "it is worse already");
    assert_eq!(told((30, 2_000)), Some(Verdict::NotEnoughYet));
}

#[test]
fn a_step_begins_anew() {
    let (before, mut changes) = (two(), Changes::default());
    let worse = judged(&before, &[("a", STABLE), ("b", (100, 1_000))]);
    assert_eq!(changes.of(&worse).len(), 1);
    let weights = [(name("b"), weight(20))].into();
    let later = before
        .weights(&weights, after(&before, Timestamp::from_secs(START)))
        .unwrap();
    let nothing = judged(&later, &[]);
    assert!(changes.of(&nothing).is_empty(), "no verdict was taken back");
    let worse = judged(&later, &[("a", STABLE), ("b", (100, 1_000))]);
    assert_eq!(changes.of(&worse).len(), 1, "it is worse in this step too");
}

#[test]
fn a_verdict_is_told_with_its_interval_and_its_numbers() {
    let judged = judged(&two(), &[("a", STABLE), ("b", (100, 1_000))]);
    let text = in_words(&judged.canaries[0], &judged);
    let begins = "the canary is worse than a: 10.00 % of 1000 sessions failed, of a 1.00 % of 10000; \
                  the difference is +";
    assert!(text.starts_with(begins), "{text}");
}
