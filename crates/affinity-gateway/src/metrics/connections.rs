//! What is measured of connections, and of the limits that they reach.

use metrics::{Counter, Gauge, Key, Label, Metadata, Recorder, Unit};

use crate::intake::BodyFault;
use crate::serve::{ConnectionEvent, EndCause};

/// Names and help of the series; `docs/metrics.md` has a row for each.
pub(super) const OPEN: (&str, &str) = (
    "affinity_connections_open",
    "Connections of clients that are open now.",
);
pub(super) const ENDED: (&str, &str) = (
    "affinity_connections_ended_total",
    "Connections of clients that ended, by why.",
);
pub(super) const LIMITS: (&str, &str) = (
    "affinity_limits_reached_total",
    "Times that a client reached a limit which ends a request and not its connection.",
);

pub(super) const INTERIM: (&str, &str) = (
    "affinity_interim_answers_total",
    "Interim answers of endpoints to requests on HTTP/1.1, by what became of them.",
);

/// The series of connections.
#[derive(Clone)]
pub(crate) struct ConnectionSeries {
    open: Gauge,
    ended: [Counter; EndCause::ALL.len()],
    full: Counter,
    overloaded: Counter,
    stalled: Counter,
    too_long: Counter,
    too_slow: Counter,
    unread: Counter,
    interim_passed: Counter,
    interim_dropped: Counter,
}

impl ConnectionSeries {
    pub(super) fn register(recorder: &dyn Recorder, metadata: &Metadata<'_>) -> Self {
        recorder.describe_gauge(OPEN.0.into(), Some(Unit::Count), OPEN.1.into());
        for (name, help) in [ENDED, LIMITS, INTERIM] {
            recorder.describe_counter(name.into(), Some(Unit::Count), help.into());
        }
        let counter = |name, label, value| {
            let labels = vec![Label::new(label, value)];
            recorder.register_counter(&Key::from_parts(name, labels), metadata)
        };
        let limit = |value| counter(LIMITS.0, "limit", value);
        let interim = |value| counter(INTERIM.0, "outcome", value);
        Self {
            open: recorder.register_gauge(&Key::from_static_name(OPEN.0), metadata),
            ended: EndCause::ALL.map(|cause| counter(ENDED.0, "cause", cause.as_str())),
            full: limit("connections"),
            overloaded: limit("max_requests"),
            stalled: limit("write_timeout"),
            too_long: limit("max_body"),
            too_slow: limit("body_timeout"),
            unread: limit("unread_body"),
            interim_passed: interim("passed"),
            interim_dropped: interim("dropped"),
        }
    }

    /// Something happened to a connection.
    pub(crate) fn count(&self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Opened => self.open.increment(1.0),
            ConnectionEvent::Ended(cause) => {
                self.open.decrement(1.0);
                if let Some(counter) = self.ended.get(cause as usize) {
                    counter.increment(1);
                }
            }
            ConnectionEvent::StreamStalled => self.stalled.increment(1),
            ConnectionEvent::Full => self.full.increment(1),
            ConnectionEvent::Interim { passed: true } => self.interim_passed.increment(1),
            ConnectionEvent::Interim { passed: false } => self.interim_dropped.increment(1),
        }
    }

    /// A request was refused because too many were in flight.
    pub(crate) fn overloaded(&self) {
        self.overloaded.increment(1);
    }

    /// A request's body was given up.
    pub(crate) fn body(&self, fault: BodyFault) {
        match fault {
            BodyFault::TooLong => self.too_long.increment(1),
            BodyFault::TooSlow => self.too_slow.increment(1),
        }
    }

    /// More of a body was left than is read after its answer.
    pub(crate) fn unread(&self) {
        self.unread.increment(1);
    }
}
