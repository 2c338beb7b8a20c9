//! What is measured of connections before HTTP begins on them.

use std::time::Duration;

use metrics::{Counter, Gauge, Key, Label, Metadata, Recorder, Unit};

use crate::serve::TransportEvent;

/// Names and help of the series; `docs/metrics.md` has a row for each.
pub(super) const HANDSHAKES: (&str, &str) = (
    "affinity_tls_handshakes_total",
    "TLS handshakes at the listener: full, resumed by a ticket, or failed.",
);
pub(super) const HEADERS: (&str, &str) = (
    "affinity_proxy_headers_rejected_total",
    "Connections of trusted proxies that were closed for want of a right PROXY header in time.",
);
pub(super) const NOT_AFTER: (&str, &str) = (
    "affinity_certificate_not_after_seconds",
    "When the certificate that clients see ends, as unix time; 0 without TLS.",
);

/// The series of the transport.
#[derive(Clone)]
pub(crate) struct TransportSeries {
    full: Counter,
    resumed: Counter,
    failed: Counter,
    headers: Counter,
    not_after: Gauge,
}

impl TransportSeries {
    pub(super) fn register(recorder: &dyn Recorder, metadata: &Metadata<'_>) -> Self {
        for (name, help) in [HANDSHAKES, HEADERS] {
            recorder.describe_counter(name.into(), Some(Unit::Count), help.into());
        }
        let (name, help) = NOT_AFTER;
        recorder.describe_gauge(name.into(), Some(Unit::Seconds), help.into());
        let handshakes = |kind| {
            let key = Key::from_parts(HANDSHAKES.0, vec![Label::new("kind", kind)]);
            recorder.register_counter(&key, metadata)
        };
        Self {
            full: handshakes("full"),
            resumed: handshakes("resumed"),
            failed: handshakes("failed"),
            headers: recorder.register_counter(&Key::from_static_name(HEADERS.0), metadata),
            not_after: recorder.register_gauge(&Key::from_static_name(NOT_AFTER.0), metadata),
        }
    }

    pub(crate) fn count(&self, event: TransportEvent) {
        let counter = match event {
            TransportEvent::FullHandshake => &self.full,
            TransportEvent::ResumedHandshake => &self.resumed,
            TransportEvent::FailedHandshake => &self.failed,
            TransportEvent::RefusedProxyHeader => &self.headers,
        };
        counter.increment(1);
    }

    /// The end of the present certificate.
    pub(crate) fn not_after(&self, end: Option<Duration>) {
        self.not_after.set(end.unwrap_or_default().as_secs_f64());
    }
}
