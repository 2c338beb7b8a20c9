//! The series of one group: a table of handles, each filled at its first use.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use metrics::{Counter, Gauge, Histogram, Key, Label};
use tower_affinity_core::{Cause, Cohort, Decision, Kind, LiveSketch, SessionId, Timestamp};

use super::auth::AuthSeries;
use super::common::Common;
use super::live::Live;
use super::names;
use super::outcomes::OutcomeSeries;
use super::peers::PeerOutcome;
use super::retry::RetryOutcome;
use super::source::{Kept, Source};
use super::tally::TallySeries;
use crate::BoxError;
use crate::balance::StreamCut;
use crate::problem::status_class;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeClass {
    Informational,
    Success,
    Redirection,
    ClientError,
    ServerError,
    ClientAbort,
    Cut,
    Error,
}

impl CodeClass {
    /// All classes, in their order.
    pub(super) const ALL: [Self; 8] = [
        Self::Informational,
        Self::Success,
        Self::Redirection,
        Self::ClientError,
        Self::ServerError,
        Self::ClientAbort,
        Self::Cut,
        Self::Error,
    ];

    pub(super) fn of(status: StatusCode) -> Self {
        match status.as_u16() {
            ..200 => Self::Informational,
            200..300 => Self::Success,
            300..400 => Self::Redirection,
            400..500 => Self::ClientError,
            500.. => Self::ServerError,
        }
    }

    /// That of gRPC's own status, if `fields`, a head or trailers, hold one.
    pub(super) fn of_grpc(fields: &HeaderMap) -> Option<Self> {
        let class = status_class(fields)?;
        StatusCode::from_u16(class).ok().map(Self::of)
    }

    /// That of a body that broke.
    pub(super) fn of_broken(error: &dyn Any) -> Self {
        let boxed = error.downcast_ref::<BoxError>();
        match boxed.is_some_and(|error| error.is::<StreamCut>()) {
            true => Self::Cut,
            false => Self::Error,
        }
    }

    /// Whether the session has failed by it: an error of the server, or an answer that broke off. A
    /// client that went away tells nothing, nor does what we cut with its group.
    pub(super) const fn is_failure(self) -> bool {
        matches!(self, Self::ServerError | Self::Error)
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Informational => "1xx",
            Self::Success => "2xx",
            Self::Redirection => "3xx",
            Self::ClientError => "4xx",
            Self::ServerError => "5xx",
            Self::ClientAbort => "client_abort",
            Self::Cut => "cut",
            Self::Error => "error",
        }
    }
}

/// The labels of a request besides its group; without a decision its kind is `unknown`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labels {
    pub(super) kind: Option<Kind>,
    pub(super) cause: Cause,
    pub(super) cohort: Cohort,
}

impl Labels {
    pub(super) const UNKNOWN: Self = Self {
        kind: None,
        cause: Cause::None,
        cohort: Cohort::None,
    };

    /// Where these labels are in a table of [`Labels::COUNT`].
    const fn index(self) -> usize {
        let kind = match self.kind {
            Some(kind) => kind as usize,
            None => Kind::ALL.len(),
        };
        (kind * Cohort::ALL.len() + self.cohort as usize) * Cause::ALL.len() + self.cause as usize
    }

    const COUNT: usize = (Kind::ALL.len() + 1) * Cohort::ALL.len() * Cause::ALL.len();
}

impl From<&Decision> for Labels {
    fn from(decision: &Decision) -> Self {
        Self {
            kind: Some(decision.kind),
            cause: decision.cause,
            cohort: decision.cohort,
        }
    }
}

/// The series of one group.
pub(super) struct Series {
    group: Arc<str>,
    common: Arc<Common>,
    /// By [`Labels::index`], then by [`CodeClass`].
    requests: Box<[OnceLock<Box<Classes>>]>,
    durations: [Kept<Histogram>; Cohort::ALL.len()],
    in_flight: Kept<Gauge>,
    assigned: Kept<Counter>,
    wrong_group: Kept<Counter>,
    misdirected: Kept<Counter>,
    retries: [Kept<Counter>; RetryOutcome::ALL.len()],
    peers: [Kept<Counter>; PeerOutcome::ALL.len()],
    confirmed: Kept<Counter>,
    live: OnceLock<Live>,
    outcomes: OutcomeSeries,
    tally: TallySeries,
    auth: AuthSeries,
}

type Classes = [Kept<Counter>; CodeClass::ALL.len()];

impl Series {
    pub(super) fn new(group: Arc<str>, common: Arc<Common>) -> Self {
        Self {
            group,
            requests: std::iter::repeat_with(OnceLock::new)
                .take(Labels::COUNT)
                .collect(),
            durations: Default::default(),
            in_flight: Kept::default(),
            assigned: Kept::default(),
            wrong_group: Kept::default(),
            misdirected: Kept::default(),
            retries: Default::default(),
            peers: Default::default(),
            confirmed: Kept::default(),
            live: OnceLock::new(),
            outcomes: OutcomeSeries::default(),
            tally: TallySeries::new(common.steps.clone()),
            auth: AuthSeries::default(),
            common,
        }
    }

    pub(super) fn group(&self) -> &str {
        &self.group
    }

    pub(super) fn outcomes(&self) -> &OutcomeSeries {
        &self.outcomes
    }

    pub(super) fn peers(&self) -> &[Kept<Counter>] {
        &self.peers
    }

    pub(super) fn tally(&self) -> &TallySeries {
        &self.tally
    }

    pub(super) fn auth(&self) -> &AuthSeries {
        &self.auth
    }

    pub(super) fn common(&self) -> &Common {
        &self.common
    }

    pub(super) fn source(&self) -> &Source {
        &self.common.source
    }

    pub(super) fn request(&self, labels: Labels, class: CodeClass) {
        let classes = self.requests.get(labels.index());
        let classes = classes.map(|classes| classes.get_or_init(Default::default));
        if let Some(counter) = classes.and_then(|classes| classes.get(class as usize)) {
            let key = || self.requests_key(labels, class);
            counter.with(self.source(), key, |counter| counter.increment(1));
        }
    }

    pub(super) fn duration(&self, cohort: Cohort, took: Duration) {
        if let Some(histogram) = self.durations.get(cohort as usize) {
            let key = || {
                let cohort = Label::from_static_parts("cohort", cohort.as_str());
                Key::from_parts(names::DURATION, vec![self.label(), cohort])
            };
            histogram.with(self.source(), key, |histogram| histogram.record(took));
        }
    }

    /// One more is in flight. `false` if there was nothing to count it: then it must not leave.
    pub(super) fn enter(&self) -> bool {
        self.in_flight.with(
            self.source(),
            || self.key(names::IN_FLIGHT),
            |gauge| {
                gauge.increment(1.0);
            },
        );
        self.in_flight.get().is_some()
    }

    pub(super) fn leave(&self) {
        if let Some(gauge) = self.in_flight.get() {
            gauge.decrement(1.0);
        }
    }

    pub(super) fn assigned(&self) {
        let key = || self.key(names::ASSIGNED);
        self.assigned
            .with(self.source(), key, |counter| counter.increment(1));
    }

    /// A session returned its pin.
    pub(super) fn seen(&self, session: SessionId, now: Timestamp, idle: Duration) {
        let live = self.live.get_or_init(|| Live::new(idle));
        live.seen(session, now, idle);
    }

    /// A session has come from another group.
    pub(super) fn arrived(&self, session: SessionId) {
        if let Some(live) = self.live.get() {
            live.arrived(session);
        }
    }

    /// A session has ended or moved away.
    pub(super) fn left(&self, session: SessionId, now: Timestamp, idle: Duration) {
        let live = self.live.get_or_init(|| Live::new(idle));
        live.left(session, now, idle);
    }

    /// The sessions that were seen within their idle lifetime and have not left.
    pub(super) fn live(&self, now: Timestamp) -> LiveSketch {
        self.live
            .get()
            .map(|live| live.sketch(now))
            .unwrap_or_default()
    }

    pub(super) fn confirmed(&self) {
        let key = || self.key(names::CONFIRMED);
        self.confirmed
            .with(self.source(), key, |counter| counter.increment(1));
    }

    pub(super) fn wrong_group(&self) {
        let key = || self.key(names::WRONG_GROUP);
        self.wrong_group
            .with(self.source(), key, |counter| counter.increment(1));
    }

    pub(super) fn misdirected(&self) {
        let key = || self.key(names::MISDIRECTED);
        self.misdirected
            .with(self.source(), key, |counter| counter.increment(1));
    }

    pub(super) fn retry(&self, outcome: RetryOutcome) {
        if let Some(counter) = self.retries.get(outcome as usize) {
            let key = || {
                let outcome = Label::from_static_parts("outcome", outcome.as_str());
                Key::from_parts(names::RETRIES, vec![self.label(), outcome])
            };
            counter.with(self.source(), key, |counter| counter.increment(1));
        }
    }

    fn requests_key(&self, labels: Labels, class: CodeClass) -> Key {
        let decision = labels.kind.map_or("unknown", Kind::as_str);
        let labels = vec![
            self.label(),
            Label::from_static_parts("cohort", labels.cohort.as_str()),
            Label::from_static_parts("decision", decision),
            Label::from_static_parts("cause", labels.cause.as_str()),
            Label::from_static_parts("code_class", class.as_str()),
        ];
        Key::from_parts(names::REQUESTS, labels)
    }

    fn key(&self, name: &'static str) -> Key {
        Key::from_parts(name, vec![self.label()])
    }

    pub(super) fn label(&self) -> Label {
        Label::new("group", Arc::clone(&self.group))
    }
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Series").field(&self.group).finish()
    }
}
