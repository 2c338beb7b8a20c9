//! What is shown of the rollout and of endpoints.

use tower_affinity_core::Timestamp;
use tower_affinity_testing::{START, after, name, rollout};

use crate::Groups;
use crate::balance::{EndpointState, Source};
use crate::fixtures::Metrics;

#[test]
fn a_rollout_is_shown() {
    let metrics = Metrics::new();
    metrics
        .recorder
        .rollout(&rollout(7, &[("a", 90), ("b", 10)]));
    let seen = metrics.take();
    let expected = [
        ("affinity_group_state{group=a,state=active}", 1.0),
        ("affinity_group_state{group=b,state=active}", 1.0),
        ("affinity_group_weight{group=a}", 90.0),
        ("affinity_group_weight{group=b}", 10.0),
        ("affinity_rollout_revision{}", 7.0),
    ];
    assert_eq!(
        seen,
        expected
            .map(|(series, value)| (series.to_owned(), value))
            .into()
    );
}

#[test]
fn a_change_leaves_no_old_state_behind() {
    let metrics = Metrics::new();
    let first = rollout(7, &[("a", 90), ("b", 10)]);
    let now = Timestamp::from_secs(START);
    let drained = first.drain(&name("b"), after(&first, now)).unwrap();
    metrics.recorder.rollout(&first);
    metrics.recorder.rollout(&drained);
    let seen = metrics.take();
    assert_eq!(
        seen.get("affinity_group_state{group=b,state=draining}"),
        Some(&1.0)
    );
    assert_eq!(seen.get("affinity_group_state{group=b,state=active}"), None);
    assert_eq!(
        seen.get("affinity_group_weight{group=b}"),
        None,
        "no weight is left"
    );
    metrics.recorder.rollout(&drained);
    metrics.recorder.rollout(&rollout(9, &[("a", 1)]));
    let seen = metrics.take();
    assert!(
        seen.keys().all(|series| !series.contains("group=b")),
        "{seen:?}"
    );
}

#[test]
fn endpoints_are_counted_by_their_state() {
    let metrics = Metrics::new();
    let groups = Groups::default();
    let addresses = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"].map(|a| a.parse().unwrap());
    groups.update(&name("a"), addresses);
    groups.report(
        &name("a"),
        addresses[0],
        Source::Health,
        EndpointState::Unhealthy,
    );
    metrics.recorder.endpoints(&groups);
    let expected = [
        (
            "affinity_endpoint_state{group=a,state=ready}".to_owned(),
            2.0,
        ),
        (
            "affinity_endpoint_state{group=a,state=unhealthy}".to_owned(),
            1.0,
        ),
    ];
    assert_eq!(metrics.take(), expected.into());
    metrics.recorder.endpoints(&groups);
    groups.remove(&name("a"));
    metrics.recorder.endpoints(&groups);
    assert_eq!(
        metrics.take(),
        [].into(),
        "a removed group still shows endpoints"
    );
}
