//! Decisions, bodies and scripted endpoints that the tests of this crate share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use http_body::{Body, Frame};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tower_affinity_core::{
    Cause, Cohort, Decision, GroupId, GroupRef, Kind, LastMove, Lifetimes, MoveCause, Revision,
    SessionId, SessionPin, Timestamp,
};
use tower_affinity_testing::{START, name};

use crate::Affinity;
use crate::record::Recorder;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// A session that `group` serves, decided as `kind` and `cause` say.
pub(crate) fn decision(group: &str, kind: Kind, cause: Cause) -> Decision {
    let id = GroupId::new(name(group), 1);
    let session = SessionId::from_random(0x1234_5678_9abc_def0);
    let now = Timestamp::from_secs(START);
    let pin = SessionPin::new(session, id.clone(), Revision(1), now, Lifetimes::default());
    Decision {
        kind,
        cause,
        group: Some(id),
        pin: Some(pin),
        issue: false,
        cohort: Cohort::Current,
        endpoint_key: None,
    }
}

/// A session that has come from `from` to `to`.
pub(crate) fn moved(from: &str, to: &str) -> Decision {
    let mut decision = decision(to, Kind::Moved, Cause::Aborted);
    decision.cohort = Cohort::Moved;
    let pin = decision.pin.as_mut().unwrap();
    pin.moves = 1;
    pin.last_move = Some(LastMove {
        from: GroupRef::Known(GroupId::new(name(from), 1)),
        at: Timestamp::from_secs(START),
        cause: MoveCause::Aborted.into(),
    });
    decision
}

/// A request for which that was decided.
pub(crate) fn decided(decision: Decision) -> Request<()> {
    let mut request = Request::new(());
    request.extensions_mut().insert(Affinity::new(decision));
    request
}

/// A request of a session that is pinned to `group`.
pub(crate) fn pinned(group: &str) -> Request<()> {
    decided(decision(group, Kind::Pinned, Cause::Ok))
}

/// A body that gives out what a test wrote, and then stays pending unless it has ended.
#[derive(Debug, Default)]
pub(crate) struct Script(VecDeque<Step>);

#[derive(Debug)]
pub(crate) enum Step {
    Data(&'static str),
    Broken,
    /// With that `grpc-status`.
    Trailers(&'static str),
    End,
}

impl Script {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl From<Bytes> for Script {
    fn from(_: Bytes) -> Self {
        Self::new([Step::Data("ours"), Step::End])
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.0.pop_front() {
            Some(Step::Data(text)) => Poll::Ready(Some(Ok(Frame::data(Bytes::from(text))))),
            Some(Step::Trailers(status)) => {
                let status = HeaderValue::from_static(status);
                let trailers = HeaderMap::from_iter([(GRPC_STATUS, status)]);
                Poll::Ready(Some(Ok(Frame::trailers(trailers))))
            }
            Some(Step::Broken) => Poll::Ready(Some(Err(std::io::Error::other("broken")))),
            Some(Step::End) => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

/// Polls a body once.
pub(crate) fn poll_body<B: Body + Unpin>(body: &mut B) -> Poll<Option<Result<(), B::Error>>> {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    Pin::new(body)
        .poll_frame(&mut cx)
        .map(|frame| frame.map(|frame| frame.map(drop)))
}

/// A recorder and what it has seen: series, written as in Prometheus, with their values.
pub(crate) struct Metrics {
    pub(crate) recorder: Recorder,
    seen: Snapshotter,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let recorder = DebuggingRecorder::new();
        Self {
            seen: recorder.snapshotter(),
            recorder: Recorder::new(Arc::new(recorder)),
        }
    }

    /// All series that are not 0; reading them sets them to 0. A histogram shows how many values
    /// it has.
    pub(crate) fn take(&self) -> BTreeMap<String, f64> {
        taken(&self.seen)
    }
}

pub(crate) fn taken(seen: &Snapshotter) -> BTreeMap<String, f64> {
    let series = seen.snapshot().into_vec().into_iter();
    let series = series.map(|(key, _, _, value)| {
        let labels = key.key().labels();
        let labels: Vec<_> = labels
            .map(|l| format!("{}={}", l.key(), l.value()))
            .collect();
        let value = match value {
            DebugValue::Counter(count) => count as f64,
            DebugValue::Gauge(value) => value.into_inner(),
            DebugValue::Histogram(values) => values.len() as f64,
        };
        (
            format!("{}{{{}}}", key.key().name(), labels.join(",")),
            value,
        )
    });
    series.filter(|(_, value)| *value != 0.0).collect()
}
