//! Endpoints that do what a test wrote, and what they saw.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use tower::{ServiceExt, service_fn};
use tower_affinity_core::Timestamp;
use tower_affinity_testing::{HandClock, START, id, name};

use super::super::{Endpoint, Error, GroupBalance, Groups, Lease, ReplayBody, Retries};
use super::address;
use crate::fixtures::Metrics;
use crate::respond::UpstreamFault;
use crate::{BoxError, Rollouts};

/// What the next endpoint that is asked does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// It fails in that way after it has taken so many frames of the body.
    Fails(UpstreamFault, usize),
    /// It says that it serves another group, after so many frames.
    Misdirects(usize),
    /// It takes the whole body and answers.
    Answers(u16),
}

/// What an endpoint saw of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) endpoint: SocketAddr,
    pub(super) body: Bytes,
    /// How much its group had in flight.
    pub(super) in_flight: usize,
}

/// Two groups, `a` with endpoints 0 to 3 and `b` with 4 and 5, in front of a script.
pub(super) struct Stage {
    pub(super) groups: Groups,
    pub(super) clock: HandClock,
    pub(super) metrics: Metrics,
    pub(super) rollouts: Option<Rollouts>,
    pub(super) retries: Retries,
    acts: Arc<Mutex<VecDeque<Act>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// How long each attempt takes.
    pub(super) takes: Duration,
}

impl Stage {
    /// The endpoints do one after another what `acts` says, and then answer.
    pub(super) fn new(acts: &[Act]) -> Self {
        let clock = HandClock::at(Timestamp::from_secs(START));
        let groups = Groups::new(clock.clone());
        groups.update(&name("a"), (0..4).map(address));
        groups.update(&name("b"), (4..6).map(address));
        Self {
            groups,
            clock,
            metrics: Metrics::new(),
            rollouts: None,
            retries: Retries::default(),
            acts: Arc::new(Mutex::new(acts.iter().copied().collect())),
            seen: Arc::default(),
            takes: Duration::ZERO,
        }
    }

    /// The status of the answer to a request for `a`, or the leaf's error.
    pub(super) async fn send<B>(&self, request: Request<B>) -> Result<StatusCode, Error>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: Into<BoxError>,
    {
        let (acts, seen) = (Arc::clone(&self.acts), Arc::clone(&self.seen));
        let (groups, clock, takes) = (self.groups.clone(), self.clock.clone(), self.takes);
        let connect = move |endpoint: &Arc<Endpoint>| {
            let (acts, seen) = (Arc::clone(&acts), Arc::clone(&seen));
            let (groups, clock) = (groups.clone(), clock.clone());
            let endpoint = endpoint.address();
            service_fn(move |request: Request<ReplayBody<B>>| {
                let act = acts.lock().unwrap().pop_front();
                let (seen, clock) = (Arc::clone(&seen), clock.clone());
                let lease = request.extensions().get::<Lease>().unwrap();
                let in_flight = groups.in_flight(lease.group());
                async move {
                    clock.advance(takes);
                    let act = act.unwrap_or(Act::Answers(200));
                    let most = match act {
                        Act::Fails(_, frames) | Act::Misdirects(frames) => frames,
                        Act::Answers(_) => usize::MAX,
                    };
                    let body = taken(request.into_body(), most).await;
                    seen.lock().unwrap().push(Seen {
                        endpoint,
                        body,
                        in_flight,
                    });
                    answer(act)
                }
            })
        };
        let mut balance = GroupBalance::new(self.groups.clone(), connect)
            .recorder(self.metrics.recorder.clone())
            .retries(self.retries);
        if let Some(rollouts) = &self.rollouts {
            balance = balance.rollouts(rollouts.clone());
        }
        let mut request = request;
        let pinned = super::pinned("a");
        request.extensions_mut().extend(pinned.extensions().clone());
        let answer = balance.oneshot(request).await;
        answer.map(|answer| answer.status())
    }

    /// What the endpoints saw so far, each attempt once.
    pub(super) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }

    /// The outcomes of further attempts since they were last asked for.
    pub(super) fn outcomes(&self) -> Vec<(String, f64)> {
        let series = self.metrics.take().into_iter();
        let prefix = "affinity_retries_total{group=a,outcome=";
        series
            .filter_map(|(name, count)| {
                let outcome = name.strip_prefix(prefix)?.strip_suffix('}')?;
                Some((outcome.to_owned(), count))
            })
            .collect()
    }
}

pub(super) fn request(method: Method, body: &'static str) -> Request<Full<Bytes>> {
    let request = Request::builder().method(method);
    request.body(Full::new(Bytes::from(body))).unwrap()
}

/// The group of the tests.
pub(super) fn group() -> tower_affinity_core::GroupId {
    id("a")
}

fn answer(act: Act) -> Result<Response<Full<Bytes>>, UpstreamFault> {
    let response = Response::builder();
    let response = match act {
        Act::Fails(fault, _) => return Err(fault),
        Act::Misdirects(_) => response.status(421).header("affinity-misdirected", "1"),
        Act::Answers(status) => response.status(status),
    };
    Ok(response.body(Full::default()).unwrap())
}

async fn taken<B>(mut body: B, most: usize) -> Bytes
where
    B: Body<Data = Bytes, Error = BoxError> + Unpin,
{
    let mut taken = Vec::new();
    for _ in 0..most {
        match body.frame().await {
            Some(frame) => taken.extend_from_slice(&frame.unwrap().into_data().unwrap()),
            None => break,
        }
    }
    taken.into()
}
