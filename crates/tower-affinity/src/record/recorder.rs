//! [`Recorder`]: everything that the layers count.

use http::StatusCode;
use tower_affinity_core::{Decision, Fault, KeyId};

/// What counts requests and pins. Whoever ends a request counts it, once, through this.
#[derive(Clone, Debug, Default)]
pub struct Recorder(());

impl Recorder {
    pub(crate) fn pin_verified(&self, key: &KeyId) {
        metrics::counter!("affinity_pins_verified_total", "kid" => key.to_string()).increment(1);
    }

    pub(crate) fn pin_rejected(&self, fault: Fault) {
        let cause = tower_affinity_core::Cause::from(fault).as_str();
        metrics::counter!("affinity_pins_rejected_total", "cause" => cause).increment(1);
    }

    pub(crate) fn planted(&self, count: usize) {
        metrics::counter!("affinity_pins_planted_total").increment(count as u64);
    }

    pub(crate) fn claims_dropped(&self) {
        metrics::counter!("affinity_claims_dropped_total").increment(1);
    }

    pub(crate) fn signal_ignored(&self) {
        metrics::counter!("affinity_signals_ignored_total").increment(1);
    }

    pub(crate) fn refused(&self, decision: &Decision, status: StatusCode) {
        metrics::counter!(
            "affinity_requests_total",
            "group" => decision.group_label().to_owned(),
            "cohort" => decision.cohort.as_str(),
            "decision" => decision.kind.as_str(),
            "cause" => decision.cause.as_str(),
            "code_class" => format!("{}xx", status.as_u16() / 100),
        )
        .increment(1);
    }
}
