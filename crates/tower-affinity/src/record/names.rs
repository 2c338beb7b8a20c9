//! The names of all metrics, with what they mean.

use metrics::Unit;

pub(super) const REQUESTS: &str = "affinity_requests_total";
pub(super) const DURATION: &str = "affinity_request_duration_seconds";
pub(super) const IN_FLIGHT: &str = "affinity_requests_in_flight";
pub(super) const ASSIGNED: &str = "affinity_sessions_assigned_total";
pub(super) const CONFIRMED: &str = "affinity_sessions_confirmed_total";
pub(super) const SESSIONS_FAILED: &str = "affinity_sessions_failed_total";
pub(super) const SESSIONS_COMPLETED: &str = "affinity_sessions_completed_total";
pub(super) const SESSIONS_SLOW: &str = "affinity_sessions_slow_total";
pub(super) const SESSIONS_ENDED: &str = "affinity_sessions_ended_total";
pub(super) const AUTH_FAILURES: &str = "affinity_auth_failures_total";
pub(super) const AUTH_BURST: &str = "affinity_auth_burst";
pub(super) const LIVE: &str = "affinity_sessions_live";
pub(super) const SESSIONS_MOVED: &str = "affinity_sessions_moved_total";
pub(super) const MOVES: &str = "affinity_moves_total";
pub(super) const STREAMS_CUT: &str = "affinity_streams_cut_total";
pub(super) const LATE_PINS: &str = "affinity_late_pins_total";
pub(super) const WRONG_GROUP: &str = "affinity_wrong_group_total";
pub(super) const RETRIES: &str = "affinity_retries_total";
pub(super) const PEER_REQUESTS: &str = "affinity_peer_requests_total";
pub(super) const HOPS_REJECTED: &str = "affinity_hops_rejected_total";
pub(super) const INPUTS_REJECTED: &str = "affinity_inputs_rejected_total";
pub(super) const MISDIRECTED: &str = "affinity_misdirected_total";
pub(super) const VERIFIED: &str = "affinity_pins_verified_total";
pub(super) const REJECTED: &str = "affinity_pins_rejected_total";
pub(super) const PLANTED: &str = "affinity_pins_planted_total";
pub(super) const CLAIMS_DROPPED: &str = "affinity_claims_dropped_total";
pub(super) const EXPOSURES: &str = "affinity_exposures_total";
pub(super) const HINTS: &str = "affinity_hints_total";
pub(super) const RELOADS: &str = "affinity_reloads_asked_total";
pub(super) const SIGNALS_IGNORED: &str = "affinity_signals_ignored_total";
pub(super) const NOT_RETURNED: &str = "affinity_pins_not_returned";
pub(super) const WEIGHT: &str = "affinity_group_weight";
pub(super) const STATE: &str = "affinity_group_state";
pub(super) const REVISION: &str = "affinity_rollout_revision";
pub(super) const ENDPOINTS: &str = "affinity_endpoint_state";

pub(super) const OVERRIDES_REJECTED: &str = "affinity_overrides_rejected_total";

pub(super) const TOLD_REJECTED: &str = "affinity_told_rejected_total";

pub(super) const EJECTIONS: &str = "affinity_ejections_total";
pub(super) const PANIC: &str = "affinity_group_panic";

pub(super) const STORE_ERRORS: &str = "affinity_store_errors_total";
pub(super) const STORE_ABSENT: &str = "affinity_store_rows_absent_total";
pub(super) const STORE_SESSIONS: &str = "affinity_store_sessions";
pub(super) const STORE_UP: &str = "affinity_store_up";

pub(super) const LOCAL: &str = "affinity_local_sessions";
pub(super) const LOCAL_ENDED: &str = "affinity_local_sessions_ended_total";
pub(super) const CALLER_PINS: &str = "affinity_caller_pins_total";
pub(super) const NOT_PROPAGATED: &str = "affinity_propagation_dropped_total";
pub(super) const FIELDS_DROPPED: &str = "affinity_session_fields_dropped_total";

const COUNTERS: [(&str, &str); 35] = [
    (
        CALLER_PINS,
        "Pins of trusted callers that were read as keys, or whose time was over",
    ),
    (
        NOT_PROPAGATED,
        "Parts of the context of a request that did not go on to other services",
    ),
    (
        EXPOSURES,
        "Sessions that were given an arm of an experiment, once each",
    ),
    (
        SESSIONS_FAILED,
        "Sessions with an answer that was an error, or whose application said so",
    ),
    (
        SESSIONS_COMPLETED,
        "Sessions that have reached their aim, as the application said",
    ),
    (
        SESSIONS_SLOW,
        "Sessions with an answer whose head took longer than the threshold",
    ),
    (SESSIONS_ENDED, "Sessions that have ended, by their outcome"),
    (
        AUTH_FAILURES,
        "Answers 401 or 403, or that send to a login page",
    ),
    (
        LOCAL_ENDED,
        "Values of sessions in this process that were let go, by reason",
    ),
    (
        FIELDS_DROPPED,
        "Unknown fields of session payloads that were not carried, because they were too many",
    ),
    (
        STORE_ERRORS,
        "Calls of the store of assignments that failed, were late or were not made",
    ),
    (
        STORE_ABSENT,
        "Rows of the store that counted as absent, by cause",
    ),
    (EJECTIONS, "Ejections of endpoints whose requests failed"),
    (OVERRIDES_REJECTED, "Overrides that were ignored, by cause"),
    (
        TOLD_REJECTED,
        "Requests whose headers of a gateway did not count, by cause",
    ),
    (CONFIRMED, "Sessions that returned their pin"),
    (
        SESSIONS_MOVED,
        "Sessions that were moved from one group to another, once each",
    ),
    (
        LATE_PINS,
        "Pins to the group that came after it was said to be drained",
    ),
    (
        STREAMS_CUT,
        "Answers and tunnels that were cut with their group",
    ),
    (REQUESTS, "Requests, once each, when their answer has ended"),
    (ASSIGNED, "Sessions that were assigned to the group"),
    (
        MOVES,
        "Answers that moved a session from one group to another",
    ),
    (
        WRONG_GROUP,
        "Answers of endpoints that turned out to serve another group",
    ),
    (
        RETRIES,
        "Requests that were sent again or might have been, by outcome",
    ),
    (
        PEER_REQUESTS,
        "Requests in a process that forwards to its peers or was sent one, by outcome",
    ),
    (
        INPUTS_REJECTED,
        "New content of an input that is followed which was refused",
    ),
    (HOPS_REJECTED, "Marks of peers that were ignored, by cause"),
    (
        MISDIRECTED,
        "Requests for another group that this endpoint refused",
    ),
    (VERIFIED, "Pins that were opened, by key"),
    (HINTS, "Requests that named a group, unsigned, by outcome"),
    (
        RELOADS,
        "Answers that told a page to load itself anew, by reason",
    ),
    (REJECTED, "Pins that were not obeyed, by cause"),
    (PLANTED, "Pins that an endpoint tried to set"),
    (
        CLAIMS_DROPPED,
        "Pins that lost unknown claims because they would have been too long",
    ),
    (
        SIGNALS_IGNORED,
        "Words of the application that were not understood",
    ),
];

const GAUGES: [(&str, &str); 12] = [
    (
        AUTH_BURST,
        "1 while sessions that were moved to the group fail to authenticate far more than others",
    ),
    (
        STORE_SESSIONS,
        "Sessions of the group that the store has a row of which has not ended",
    ),
    (LOCAL, "Sessions that have a value in this process"),
    (
        STORE_UP,
        "0 while the store of assignments is left alone because it fails, 1 otherwise",
    ),
    (
        PANIC,
        "1 while what is known of the group's endpoints is ignored, because too few would be left",
    ),
    (
        LIVE,
        "Sessions that returned their pin within the idle lifetime and have not left, to 5 %",
    ),
    (
        NOT_RETURNED,
        "1 if under 1 % of the last 1,000 issued pins came back: someone drops our cookie",
    ),
    (IN_FLIGHT, "Requests whose answer or tunnel has not ended"),
    (WEIGHT, "The group's relative share of new sessions"),
    (
        STATE,
        "1 for the state that the group is in, 0 for the others",
    ),
    (REVISION, "The revision of the rollout that is in force"),
    (ENDPOINTS, "Endpoints of the group in the state"),
];

pub(super) fn describe(recorder: &dyn metrics::Recorder) {
    for (name, text) in COUNTERS {
        recorder.describe_counter(name.into(), Some(Unit::Count), text.into());
    }
    for (name, text) in GAUGES {
        recorder.describe_gauge(name.into(), Some(Unit::Count), text.into());
    }
    recorder.describe_histogram(
        DURATION.into(),
        Some(Unit::Seconds),
        "From the request to the end of its answer".into(),
    );
}

#[cfg(test)]
mod tests {
    use tower_affinity_core::{Cause, Cohort, Kind, State};

    use super::{COUNTERS, DURATION, GAUGES};
    use crate::balance::{EjectionReason, EndpointState};
    use crate::record::outcomes::Ending;
    use crate::record::series::CodeClass;
    use crate::record::{
        Dropped, HintOutcome, LocalEnd, PeerOutcome, Reload, RetryOutcome, ToldRejected,
    };

    const PAGE: &str = include_str!("../../../../docs/metrics.md");

    #[test]
    fn the_page_has_a_row_for_every_metric() {
        let described = COUNTERS.iter().chain(&GAUGES).map(|(name, _)| *name);
        for name in described.chain([DURATION]) {
            let row = format!("\n| `{name}` | ");
            assert!(PAGE.contains(&row), "docs/metrics.md has no row of {name}");
        }
    }

    #[test]
    fn the_page_names_every_value_of_a_closed_label() {
        let causes = Cause::ALL.iter().map(|cause| cause.as_str());
        let kinds = Kind::ALL.iter().map(|kind| kind.as_str());
        let cohorts = Cohort::ALL.iter().map(|cohort| cohort.as_str());
        let classes = CodeClass::ALL.iter().map(|class| class.as_str());
        let endpoints = EndpointState::ALL.iter().map(|state| state.as_str());
        let reasons = EjectionReason::ALL.iter().map(|reason| reason.as_str());
        let dropped = Dropped::ALL.iter().map(|dropped| dropped.as_str());
        let endpoints = endpoints.chain(reasons).chain(dropped);
        let retries = RetryOutcome::ALL.iter().map(|outcome| outcome.as_str());
        let hints = HintOutcome::ALL.iter().map(|outcome| outcome.as_str());
        let hints = hints.chain(Reload::ALL.iter().map(|reload| reload.as_str()));
        let ends = LocalEnd::ALL.iter().map(|end| end.as_str());
        let told = ToldRejected::ALL.iter().map(|cause| cause.as_str());
        let ends = ends.chain(told);
        let ends = ends.chain(Ending::ALL.iter().map(|ending| ending.as_str()));
        let values = causes
            .chain(ends)
            .chain(hints)
            .chain(retries)
            .chain(PeerOutcome::ALL.iter().map(|outcome| outcome.as_str()))
            .chain(kinds)
            .chain(cohorts)
            .chain(classes);
        for value in values.chain(endpoints).chain(State::NAMES) {
            let named = format!("`{value}`");
            assert!(
                PAGE.contains(&named),
                "docs/metrics.md does not name {value}"
            );
        }
    }
}
