//! A request that has not ended yet.

use std::sync::Arc;

use tower_affinity_core::Decision;

use super::account::Account;
use super::series::{CodeClass, Labels, Series};
use crate::clock::Stopwatch;

/// Counts its request when it is dropped: as ended with `class`, or as one whose client went away.
#[derive(Debug)]
pub(super) struct Running {
    series: Arc<Series>,
    labels: Labels,
    started: Stopwatch,
    in_flight: bool,
    class: Option<CodeClass>,
    /// What the answer's body has brought, in bytes.
    body: u64,
    account: Option<Account>,
}

impl Running {
    pub(super) fn start(series: Arc<Series>, labels: Labels, account: Option<Account>) -> Self {
        Self {
            in_flight: series.enter(),
            series,
            labels,
            started: Stopwatch::start(),
            class: None,
            body: 0,
            account,
        }
    }

    /// Part of the answer's body was given out.
    pub(super) fn gave(&mut self, bytes: u64) {
        self.body = self.body.saturating_add(bytes);
    }

    /// All that there is to send was given out: it has not ended, but will end with `class`.
    pub(super) fn is_whole(&mut self, class: CodeClass) {
        self.class = Some(class);
    }

    /// Its decision has turned out to be another, of the same group.
    pub(super) fn turns_out(&mut self, decision: &Decision) {
        self.labels = decision.into();
    }

    pub(super) fn end(mut self, class: CodeClass) {
        self.class = Some(class);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.in_flight {
            self.series.leave();
        }
        let class = self.class.unwrap_or(CodeClass::ClientAbort);
        self.series.request(self.labels, class);
        self.series
            .duration(self.labels.cohort, self.started.elapsed());
        if let Some(account) = &self.account {
            account.ended(class, self.body);
        }
    }
}
