//! What is left of a draining group: never said too early, and said in the end.

use std::time::Duration;

use proptest::prelude::*;

use super::world::{World, skews, steps};
use super::{group, record};
use crate::fixtures::{TA, after, at, name, rollout};
use crate::{Announced, Bounds, Fleet, Group, Left, Refusal, ReplicaRecord};

const SKEW: Duration = Duration::from_secs(300);

const BOUNDS: Bounds = Bounds {
    max_age: TA,
    skew: SKEW,
    streams: Duration::from_secs(30),
};

/// What a decision may take until its pin is known.
const DECIDING: Duration = Duration::from_millis(250);

/// The group B that drains since 0.
fn draining() -> Group {
    let active = rollout(&[("A", 1), ("B", 1)]);
    let drained = active.drain(&name("B"), after(&active, at(0))).unwrap();
    drained.group(&name("B")).unwrap().clone()
}

fn says(now: i64, last: Option<i64>, open: u64, acknowledged: Option<i64>) -> ReplicaRecord {
    ReplicaRecord {
        groups: vec![group("B", last, open, acknowledged)],
        ..record(at(now))
    }
}

fn announced(replica: &str, alive: bool, record: &ReplicaRecord) -> Announced {
    Announced {
        replica: replica.to_owned(),
        record: record.to_document().to_string(),
        alive,
    }
}

/// What is left at `now` for a replica that has acknowledged at once and seen nothing.
fn left(now: i64, others: &[Announced]) -> Left {
    Fleet::new("r1", says(now, None, 0, Some(0)), others).left(&draining(), BOUNDS)
}

#[test]
fn a_fleet_of_one_waits_as_its_rollout_says() {
    let active = rollout(&[("A", 1), ("B", 1)]);
    let drained = active.drain(&name("B"), after(&active, at(0))).unwrap();
    for last in [None, Some(-5), Some(1_800), Some(1_000_000)] {
        let fleet = Fleet::new("r1", says(1, last, 0, Some(0)), &[]);
        let left = fleet.left(&draining(), BOUNDS);
        let expected = drained.drained_after(&name("B"), last.map(at), TA, SKEW);
        assert_eq!(left.after, expected, "{last:?}");
        assert_eq!(left.by, drained.drained_by(&name("B"), TA, SKEW));
        assert_eq!(left.last_expiry, last.map(at));
        assert_eq!(fleet.cut_at(&draining(), BOUNDS), left.by);
    }
}

#[test]
fn it_waits_for_the_latest_pin_of_any_replica_and_twice_the_skew() {
    let others = |now| [announced("r2", true, &says(now, Some(1_800), 0, Some(3)))];
    let told = left(2_400, &others(2_395));
    assert_eq!(told.after, Some(at(1_800).plus(SKEW * 2).plus(DECIDING)));
    assert!(!told.drained);
    assert!(left(2_401, &others(2_395)).drained);
}

#[test]
fn a_replica_has_to_say_that_nothing_is_left_after_the_latest_pin() {
    let told = |at| {
        left(
            2_401,
            &[announced("r2", true, &says(at, Some(1_800), 0, Some(3)))],
        )
    };
    assert_eq!(told(1_800).waits_for, ["r2"]);
    assert!(!told(1_800).drained);
    assert!(told(1_801).drained);
}

#[test]
fn what_is_open_anywhere_is_left() {
    let others = [
        announced("r2", true, &says(2_395, None, 2, Some(0))),
        announced("r3", true, &says(2_395, None, 1, Some(0))),
    ];
    let told = left(2_401, &others);
    assert!(!told.drained);
    assert_eq!(told.open, 3);
}

#[test]
fn who_has_not_put_the_drain_in_force_is_named() {
    let garbage = Announced {
        replica: "r5".to_owned(),
        record: "garbage".to_owned(),
        alive: true,
    };
    let others = [
        announced("r2", true, &says(99_999, None, 0, None)),
        announced("r3", false, &says(0, None, 0, None)),
        announced("r4", true, &record(at(99_999))),
        garbage,
    ];
    let told = left(100_000, &others);
    assert_eq!(told.waits_for, ["r2", "r3", "r4", "r5"]);
    assert_eq!((told.drained, told.after, told.by), (false, None, None));
}

#[test]
fn an_earlier_drain_that_was_acknowledged_is_not_this_one() {
    let mut earlier = says(99_999, None, 0, Some(-60));
    let known = earlier.groups[0].acknowledged.as_mut().unwrap();
    known.since = at(-100);
    let told = left(100_000, &[announced("r2", true, &earlier)]);
    assert_eq!(told.waits_for, ["r2"]);
}

#[test]
fn a_silent_replica_counts_up_to_the_bound_and_until_its_streams_are_cut() {
    let silent = [announced("r2", false, &says(200, None, 7, Some(100)))];
    let bound = 100 + TA.as_secs() as i64 + 600;
    let told = left(bound, &silent);
    assert_eq!(told.after, Some(at(bound)));
    assert_eq!(told.by, Some(at(bound + 30 + 600)));
    assert_eq!(told.waits_for, ["r2"]);
    assert!(!left(bound + 630, &silent).drained);
    let told = left(bound + 631, &silent);
    assert!(told.drained, "{told:?}");
    assert_eq!(told.waits_for, [""; 0]);
}

#[test]
fn one_that_left_in_good_order_counts_with_its_pins() {
    let leaves = |acknowledged| {
        let record = ReplicaRecord {
            left: true,
            ..says(1_000, Some(1_800), 0, acknowledged)
        };
        [announced("r2", false, &record)]
    };
    for acknowledged in [None, Some(5)] {
        assert!(!left(2_400, &leaves(acknowledged)).drained);
        assert!(left(2_401, &leaves(acknowledged)).drained);
    }
    let bound = |others: &[Announced]| left(5, others).by.unwrap();
    assert_eq!(bound(&leaves(Some(5))), at(5).plus(TA).plus(SKEW * 2));
    // it may have begun sessions until it left
    assert_eq!(bound(&leaves(None)), at(1_000).plus(TA).plus(SKEW * 2));
}

#[test]
fn a_late_pin_makes_it_not_drained_again() {
    let others = |last| [announced("r2", true, &says(2_900, last, 0, Some(0)))];
    assert!(left(2_901, &others(None)).drained);
    assert!(!left(2_901, &others(Some(2_850))).drained);
}

#[test]
fn replicas_that_were_not_heard_of_since_the_drain_may_begin_sessions() {
    let told = |heard| {
        let fleet = Fleet::new("r1", says(10_000, None, 0, Some(5)), &[]);
        fleet.heard_at(at(heard)).left(&draining(), BOUNDS)
    };
    for early in [0, 5] {
        assert_eq!(told(early).waits_for, ["r1"], "heard at {early}");
        assert!(!told(early).drained);
    }
    assert!(told(6).drained);
}

#[test]
fn an_active_group_is_never_drained() {
    let active = rollout(&[("A", 1), ("B", 1)]);
    let group = active.group(&name("B")).unwrap();
    let told = Fleet::new("r1", record(at(1_000_000)), &[]).left(group, BOUNDS);
    assert_eq!(told, Left::default());
}

#[test]
fn a_retirement_is_refused_for_what_is_missing() {
    let refusal = |now, others: &[Announced]| left(now, others).objection(&name("B"), at(now));
    let unheard = [announced("r2", true, &says(5, None, 0, None))];
    let told = refusal(10, &unheard).unwrap();
    assert!(matches!(&told, Refusal::Waits { replicas, .. } if replicas == &["r2"]));
    assert!(
        told.can_be_forced() && told.to_string().contains("r2"),
        "{told}"
    );
    assert!(matches!(refusal(10, &[]), Some(Refusal::NotDrained { .. })));
    let open = [announced("r2", true, &says(2_900, None, 2, Some(0)))];
    let told = refusal(2_901, &open);
    assert!(
        matches!(told, Some(Refusal::Open { open: 2, .. })),
        "{told:?}"
    );
    assert_eq!(refusal(2_901, &[]), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn it_is_never_said_while_a_pin_is_valid_or_a_stream_open(
        skews in skews(),
        steps in steps(),
    ) {
        let mut world = World::new(skews);
        for step in steps {
            world.step(step);
            world.check()?;
        }
        // until the latest pin of all has ended
        for _ in 0..60 {
            world.wait(10);
            world.check()?;
        }
    }

    #[test]
    fn it_is_said_within_the_bound_once_each_has_put_it_in_force(
        skews in skews(),
        steps in steps(),
    ) {
        let mut world = World::new(skews);
        steps.into_iter().for_each(|step| world.step(step));
        world.settle();
        world.wait(10);
        let Some(told) = world.left(0) else { return Ok(()) };
        let by = told.by.unwrap();
        while world.now(0) <= by.plus(Duration::from_secs(10)) {
            world.wait(5);
            world.check()?;
        }
        let told = world.left(0).unwrap();
        prop_assert!(told.drained, "{:?}", told);
    }
}
