//! What is counted of values.

use std::collections::BTreeMap;

use super::{IDLE, built, clock, place};
use crate::fixtures::Metrics;

fn shown<const N: usize>(series: [(&str, f64); N]) -> BTreeMap<String, f64> {
    let named = |(name, value): (&str, f64)| (name.to_owned(), value);
    series.map(named).into()
}

#[test]
fn values_are_shown_and_every_end_has_its_reason() {
    let (clock, metrics) = (clock(), Metrics::new());
    let sessions = built(&clock).recorder(metrics.recorder.clone()).capacity(3);
    let sessions = sessions.build().unwrap();
    for nth in 0..5 {
        place(&sessions, nth).insert(nth);
        place(&sessions, nth).insert(nth + 1);
        place(&sessions, nth).get_or_insert_with(|| 0);
    }
    place(&sessions, 4).remove();
    let reason = |reason| format!("affinity_local_sessions_ended_total{{reason={reason}}}");
    let (idle, capacity, removed) = (reason("idle"), reason("capacity"), reason("removed"));
    let held = "affinity_local_sessions{}";
    let expected = shown([(held, 2.0), (&capacity, 2.0), (&removed, 1.0)]);
    assert_eq!(metrics.take(), expected);
    clock.advance(IDLE);
    assert!(place(&sessions, 3).remove().is_none());
    sessions.sweep();
    // gauges are read as changes: two less
    assert_eq!(metrics.take(), shown([(held, -2.0), (&idle, 2.0)]));
}

#[test]
fn two_rooms_are_shown_together_and_one_that_is_gone_not_at_all() {
    let (clock, metrics) = (clock(), Metrics::new());
    let numbers = built(&clock).recorder(metrics.recorder.clone());
    let texts = built(&clock).recorder(metrics.recorder.clone());
    let (numbers, texts) = (numbers.build().unwrap(), texts.build().unwrap());
    place(&numbers, 1).insert(1);
    place(&texts, 1).insert("one");
    place(&texts, 2).insert("two");
    assert_eq!(metrics.take(), shown([("affinity_local_sessions{}", 3.0)]));
    drop(texts);
    assert_eq!(metrics.take(), shown([("affinity_local_sessions{}", -2.0)]));
}
