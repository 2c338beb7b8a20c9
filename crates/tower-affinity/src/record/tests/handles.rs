//! When handles are made, and for which recorder.

use http::StatusCode;
use metrics_util::debugging::DebuggingRecorder;

use crate::fixtures::{Metrics, taken};
use crate::record::Recorder;

#[test]
fn a_recorder_that_is_installed_late_counts_from_then_on() {
    let recorder = Recorder::default();
    recorder.early(StatusCode::BAD_REQUEST);
    let late = DebuggingRecorder::new();
    let seen = late.snapshotter();
    metrics::with_local_recorder(&late, || {
        recorder.early(StatusCode::BAD_REQUEST);
        recorder.early(StatusCode::BAD_REQUEST);
    });
    recorder.early(StatusCode::BAD_REQUEST);
    let series = "affinity_requests_total{group=none,cohort=none,decision=refused,cause=early,code_class=4xx}";
    let expected = [(series.to_owned(), 3.0)];
    assert_eq!(
        taken(&seen),
        expected.into(),
        "a kept handle goes on counting"
    );
}

#[test]
fn two_recorders_in_one_process_do_not_mix() {
    let (one, other) = (Metrics::new(), Metrics::new());
    one.recorder.early(StatusCode::NOT_FOUND);
    assert_eq!(one.take().len(), 1);
    assert_eq!(other.take().len(), 0);
}

#[test]
fn every_series_is_described_with_a_unit() {
    let debugging = DebuggingRecorder::new();
    let seen = debugging.snapshotter();
    let recorder = Recorder::new(std::sync::Arc::new(debugging));
    recorder.early(StatusCode::OK);
    recorder.planted(2);
    recorder.signal_ignored();
    recorder.claims_dropped();
    recorder
        .start(&http::Extensions::new())
        .end(crate::record::series::CodeClass::Success);
    let all = seen.snapshot().into_vec();
    assert_eq!(all.len(), 7);
    for (key, unit, text, _) in all {
        let name = key.key().name();
        assert!(unit.is_some() && text.is_some(), "{name} is not described");
    }
}
