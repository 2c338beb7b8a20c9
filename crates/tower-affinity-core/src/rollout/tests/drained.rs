//! When no pin to a group can be valid any more, by its state and its latest pin.

use std::time::Duration;

use super::shape::town;
use crate::fixtures::{TA, View, after, at, name};
use crate::{AbortPolicy, AbortRequest, Timestamp};

const SKEW: Duration = Duration::from_secs(300);

/// What a decision may take until its pin is known.
const DECIDING: Duration = Duration::from_millis(250);

fn drained_after(group: &str, last: Option<i64>, skew: Duration) -> Option<Timestamp> {
    town().drained_after(&name(group), last.map(at), TA, skew)
}

#[test]
fn a_draining_group_waits_for_its_latest_pin_and_twice_the_skew() {
    let rows = [
        ("C", None, at(0)),
        ("C", Some(1_800), at(1_800)),
        ("D", Some(1_800), at(1_800)),
    ];
    for (group, last, expected) in rows {
        for skew in [Duration::ZERO, SKEW] {
            let expected = expected.plus(skew * 2).plus(DECIDING);
            assert_eq!(
                drained_after(group, last, skew),
                Some(expected),
                "{group} {last:?} {skew:?}"
            );
        }
    }
}

#[test]
fn it_never_waits_longer_than_a_session_lives() {
    for skew in [Duration::ZERO, SKEW] {
        let bound = town().drained_by(&name("C"), TA, skew);
        assert_eq!(drained_after("C", Some(1_000_000), skew), bound);
    }
}

#[test]
fn a_pin_from_before_the_drain_does_not_end_it_before_it_began() {
    let change = after(&town(), at(60));
    let drained = town().drain(&name("B"), change).unwrap();
    let none = drained.drained_after(&name("B"), Some(at(10)), TA, Duration::ZERO);
    assert_eq!(none, Some(at(60).plus(DECIDING)));
}

#[test]
fn a_staged_group_that_never_had_a_session_needs_no_wait() {
    let now = drained_after("D", None, SKEW);
    assert!(now.is_some_and(|after| after < at(0)), "C046: {now:?}");
}

#[test]
fn an_active_or_unknown_group_is_never_drained() {
    for group in ["A", "B", "nobody"] {
        assert_eq!(drained_after(group, Some(1), SKEW), None, "{group}");
    }
}

#[test]
fn an_aborted_group_has_only_the_sessions_that_stay() {
    assert_eq!(drained_after("E", Some(9_000), SKEW), Some(at(0)));
    let request = AbortRequest {
        policy: Some(AbortPolicy::Stay { until: at(600) }),
        ..AbortRequest::default()
    };
    let change = after(&town(), at(1));
    let stays = town()
        .abort(&name("B"), &request, &View::default(), change)
        .unwrap();
    let until = stays.drained_after(&name("B"), Some(at(9_000)), TA, SKEW);
    assert_eq!(until, Some(at(600).plus(SKEW * 2)), "by every clock");
}
