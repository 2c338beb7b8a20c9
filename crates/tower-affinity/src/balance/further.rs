//! [`Further`]: counts one further attempt, whatever becomes of it.

use tower_affinity_core::GroupName;

use crate::record::{Recorder, RetryOutcome};

/// A further attempt that is under way. If it is dropped before it ends, nobody waits for it any
/// more, and that is counted.
#[derive(Debug)]
pub(super) struct Further {
    group: GroupName,
    recorder: Recorder,
    outcome: RetryOutcome,
}

impl Further {
    pub(super) fn begin(group: GroupName, recorder: Recorder) -> Self {
        Self {
            group,
            recorder,
            outcome: RetryOutcome::Abandoned,
        }
    }

    pub(super) fn end(mut self, outcome: RetryOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for Further {
    fn drop(&mut self) {
        self.recorder.retry(&self.group, self.outcome);
    }
}
