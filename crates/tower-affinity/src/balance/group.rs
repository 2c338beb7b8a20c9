//! One group as the balancer sees it: a list of endpoints, and what outlives every list.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use tower_affinity_core::{EndpointId, GroupName, Timestamp};

use super::budget::Budget;
use super::ejection::EjectionReason;
use super::endpoint::{Endpoint, EndpointState, Source};
use super::error::Unserved;
use super::open::Open;
use super::pressure::Pressure;
use super::wanted::Wanted;

/// One state of a group's list.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) endpoints: Vec<Arc<Endpoint>>,
    /// Their names, in the same order.
    pub(super) ids: Arc<[EndpointId]>,
    pub(super) load: Arc<Load>,
    /// Whether nothing is known against any endpoint; see [`Group::is_calm`].
    calm: AtomicBool,
}

/// What stays while lists come and go.
#[derive(Debug)]
pub(super) struct Load {
    name: GroupName,
    pub(super) open: Open,
    pub(super) budget: Budget,
    in_flight: AtomicUsize,
    /// `NO_LIMIT` for none.
    limit: AtomicUsize,
    /// Percent of the limit that only requests which obey a pin may use.
    reserve: AtomicU8,
    /// What more of it is kept for them, because some had to be refused.
    pressure: Pressure,
    /// Since when no endpoint is ready, in milliseconds; `READY` while one is.
    idle_since: AtomicU64,
    judged: AtomicBool,
    /// Those that an operator drains, in the present list or not.
    drains: ArcSwap<BTreeSet<SocketAddr>>,
    /// By reason.
    ejections: [AtomicU64; EjectionReason::ALL.len()],
}

const NO_LIMIT: usize = usize::MAX;
const READY: u64 = u64::MAX;

impl Group {
    pub(super) fn new(endpoints: Vec<Arc<Endpoint>>, load: Arc<Load>) -> Self {
        Self {
            ids: endpoints.iter().map(|e| e.id().clone()).collect(),
            endpoints,
            load,
            calm: AtomicBool::new(false),
        }
    }

    /// Whether each endpoint takes its whole share of requests, so that nobody has to look at all of
    /// them to pick one.
    ///
    /// What is noted against an endpoint ends the calm at once; a request that has asked just before
    /// may still go there, as it may have been sent just before. The calm begins again only while no
    /// other change is noted ([`Group::settle`]): what is missed until then costs a look at all.
    pub(super) fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// Something is going to be noted against an endpoint.
    pub(super) fn unsettle(&self) {
        self.calm.store(false, Ordering::Relaxed);
    }

    /// Notes whether all endpoints take their whole share. Called by one thread at a time, also for a
    /// list that is not the present one any more: nobody picks from that for longer than a moment.
    pub(super) fn settle(&self) {
        self.calm.store(self.has_settled(), Ordering::Relaxed);
    }

    /// Whether the calm could begin again: then it is worth a [`Group::settle`].
    pub(super) fn has_settled(&self) -> bool {
        self.endpoints.iter().all(|endpoint| endpoint.is_plain())
    }

    /// Whether its checks leave it without an endpoint that could otherwise be used.
    pub(super) fn is_failing(&self) -> bool {
        self.load.idle_since().is_some() && self.is_usable()
    }

    /// Whether an endpoint besides `this` takes its whole share.
    pub(super) fn has_others(&self, this: &Endpoint) -> bool {
        let mut others = self.endpoints.iter().filter(|e| !std::ptr::eq(&***e, this));
        others.any(|other| other.state() == EndpointState::Ready)
    }

    /// Whether so many are ejected that one more would be above half.
    pub(super) fn has_ejected_enough(&self) -> bool {
        let ejected = self.endpoints.iter().filter(|e| e.ejection().is_on());
        (ejected.count() + 1) * 2 > self.endpoints.len()
    }

    /// Refuses a request for which there is no room. Others have to leave some to those that obey a pin, unless
    /// it is one endpoint only that is full.
    pub(super) fn refuse(&self, wanted: &Wanted<'_>, now: Timestamp) -> Unserved {
        let load = &self.load;
        let is_group = || load.limit().is_some_and(|limit| load.in_flight() >= limit);
        if wanted.pinned && (wanted.bound.is_none() || is_group()) {
            load.pressure.rise(now);
        }
        Unserved::Capacity(wanted.id.name().clone())
    }

    /// Whether it has an endpoint that could be used if nothing were known of its health.
    pub(super) fn is_usable(&self) -> bool {
        self.endpoints.iter().any(|endpoint| endpoint.is_usable())
    }

    /// Notes whether an endpoint is ready, and whether all are, after a list or a report has changed.
    /// Called by one thread at a time.
    pub(super) fn refresh(&self, now: Timestamp) {
        let ready = self.endpoints.iter().any(|endpoint| endpoint.is_ready());
        self.load.refresh(ready, now);
        self.settle();
    }
}

impl Load {
    pub(super) fn new(name: GroupName, now: Timestamp) -> Self {
        Self {
            name,
            open: Open::default(),
            budget: Budget::default(),
            in_flight: AtomicUsize::new(0),
            limit: AtomicUsize::new(NO_LIMIT),
            reserve: AtomicU8::new(0),
            pressure: Pressure::default(),
            idle_since: AtomicU64::new(now.as_millis()),
            judged: AtomicBool::new(true),
            drains: ArcSwap::default(),
            ejections: Default::default(),
        }
    }

    pub(super) fn name(&self) -> &GroupName {
        &self.name
    }

    pub(super) fn idle_since(&self) -> Option<Timestamp> {
        let since = self.idle_since.load(Ordering::Acquire);
        (since != READY).then(|| Timestamp::from_millis(since))
    }

    /// Called by one thread at a time.
    fn refresh(&self, ready: bool, now: Timestamp) {
        if ready {
            self.idle_since.store(READY, Ordering::Release);
        } else if self.idle_since().is_none() {
            self.idle_since.store(now.as_millis(), Ordering::Release);
        }
    }

    pub(super) fn is_judged(&self) -> bool {
        self.judged.load(Ordering::Relaxed)
    }

    pub(super) fn set_judged(&self, judged: bool) {
        self.judged.store(judged, Ordering::Relaxed);
    }

    pub(super) fn set_drains(&self, drains: BTreeSet<SocketAddr>) {
        self.drains.store(Arc::new(drains));
    }

    /// Notes whether an operator drains `endpoint`.
    pub(super) fn mark(&self, endpoint: &Endpoint) {
        let state = match self.drains.load().contains(&endpoint.address()) {
            true => EndpointState::Draining,
            false => EndpointState::Ready,
        };
        endpoint.report(Source::Operator, state);
    }

    pub(super) fn ejections(&self, reason: EjectionReason) -> Option<&AtomicU64> {
        self.ejections.get(reason as usize)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(super) fn limit(&self) -> Option<usize> {
        let limit = self.limit.load(Ordering::Relaxed);
        (limit != NO_LIMIT).then_some(limit)
    }

    pub(super) fn set_limit(&self, limit: Option<usize>) {
        self.limit
            .store(limit.unwrap_or(NO_LIMIT), Ordering::Relaxed);
    }

    /// Keeps `percent` of the limit for requests that obey a pin.
    pub(super) fn set_reserve(&self, percent: u8) {
        self.reserve.store(percent.min(100), Ordering::Relaxed);
    }

    /// Counts one more request, unless the group is at its limit, or, for one that obeys no pin,
    /// only what is kept for those that do is left. `most` is what its endpoints take together.
    pub(super) fn enter(&self, pinned: bool, most: usize, now: impl FnOnce() -> Timestamp) -> bool {
        let before = self.in_flight.fetch_add(1, Ordering::Relaxed);
        let limit = self.limit.load(Ordering::Relaxed).min(most);
        let room = match limit {
            _ if pinned => limit,
            NO_LIMIT => limit,
            _ => self.pressure.leaves(self.unreserved(limit), now),
        };
        let has_room = before < room;
        if !has_room {
            self.leave();
        }
        has_room
    }

    /// How many requests there may be, as long as no pinned one is refused, when one more comes that
    /// obeys no pin.
    pub(super) fn most(&self) -> usize {
        match self.limit.load(Ordering::Relaxed) {
            NO_LIMIT => NO_LIMIT,
            limit => self.unreserved(limit),
        }
    }

    fn unreserved(&self, limit: usize) -> usize {
        let percent = usize::from(self.reserve.load(Ordering::Relaxed));
        limit - (limit / 100 * percent + limit % 100 * percent / 100)
    }

    pub(super) fn leave(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
