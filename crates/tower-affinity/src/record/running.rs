//! A request that has not ended yet.

use std::sync::Arc;
use std::time::Duration;

use tower_affinity_core::Outcomes;

use super::account::Account;
use super::series::{CodeClass, Labels, Series};
use crate::Affinity;
use crate::clock::Stopwatch;

/// Counts its request when it is dropped: as ended with `class`, or as one whose client went away.
#[derive(Debug)]
pub(super) struct Running {
    series: Arc<Series>,
    affinity: Option<Affinity>,
    started: Stopwatch,
    in_flight: bool,
    class: Option<CodeClass>,
    /// What the answer's body has brought, in bytes.
    body: u64,
    account: Option<Account>,
}

impl Running {
    pub(super) fn start(
        series: Arc<Series>,
        affinity: Option<Affinity>,
        account: Option<Account>,
    ) -> Self {
        Self {
            in_flight: series.enter(),
            series,
            affinity,
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
    pub(super) fn turns_out(&mut self, affinity: Affinity) {
        self.affinity = Some(affinity);
    }

    /// There is no answer.
    pub(super) fn failed(self) {
        if let Some(affinity) = &self.affinity {
            self.series.tally_answer(affinity.decision());
        }
        self.end(CodeClass::Error);
    }

    pub(super) fn affinity(&self) -> Option<&Affinity> {
        self.affinity.as_ref()
    }

    pub(super) fn series(&self) -> &Series {
        &self.series
    }

    /// How long it has taken so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
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
        let decision = self.affinity.as_ref().map(Affinity::decision);
        let labels = decision.map_or(Labels::UNKNOWN, Labels::from);
        self.series.request(labels, class);
        self.series.duration(labels.cohort, self.started.elapsed());
        if class != CodeClass::ClientAbort {
            self.series.tally().request(class.is_failure());
        }
        // what was wrong from the head on is counted by then
        if let Some(decision) = decision.filter(|_| class.is_failure()) {
            self.series.turned_out(decision, Outcomes::FAILED);
        }
        if let Some(account) = &self.account {
            account.ended(class, self.body);
        }
    }
}
