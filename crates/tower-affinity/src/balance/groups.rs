//! [`Groups`]: the endpoints of all groups, fed by sources and read by the leaf.

use std::collections::{BTreeSet, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use tower_affinity_core::{Clock, GroupId, GroupName, Timestamp};

use super::balancing::{Balancing, Choice, EjectionPolicy};
use super::bound::choose;
use super::doubt::Doubt;
use super::ejection::EjectionReason;
use super::endpoint::{Endpoint, EndpointState, Source};
use super::error::Unserved;
use super::group::{Group, Load};
use super::lease::Lease;
use super::open::OpenStream;
use super::outcome::Outcome;
use super::pick::{Missing, Picked, panics, pick, pick_any};
use super::wanted::Wanted;
use crate::by_name::ByName;
use crate::clock::SystemClock;

/// The endpoints of all groups: a cheap handle. Sources feed it, the leaf picks from it, and the
/// rule asks it which groups are ready.
///
/// It holds addresses, states and counters only; what speaks to an endpoint is the leaf's.
#[derive(Clone)]
pub struct Groups(Arc<Shared>);

struct Shared {
    table: ArcSwap<Table>,
    /// Held while lists or states change, so that no change is lost to another.
    changing: Mutex<()>,
    /// Whether somebody checks the health of endpoints.
    checked: AtomicBool,
    doubt: Doubt,
    clock: Arc<dyn Clock>,
    start: Timestamp,
}

/// All groups at one time.
#[derive(Clone, Default)]
pub(super) struct Table {
    pub(super) groups: ByName<GroupName, Arc<Group>>,
    /// How endpoints are chosen: here, so that a request looks at one snapshot only.
    balancing: Balancing,
}

impl Table {
    pub(super) fn get(&self, name: &GroupName) -> Option<&Arc<Group>> {
        self.groups.get(name)
    }
}

/// What became of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Update {
    /// It is in force.
    Applied,
    /// It was empty and the group has endpoints: these stay.
    Held,
}

impl Groups {
    /// No groups, with `clock` to tell since when a group is not ready.
    #[must_use]
    pub fn new(clock: impl Clock) -> Self {
        Self(Arc::new(Shared {
            table: ArcSwap::default(),
            changing: Mutex::new(()),
            checked: AtomicBool::new(false),
            doubt: Doubt::default(),
            start: clock.now(),
            clock: Arc::new(clock),
        }))
    }

    /// Gives `group` a new list of endpoints. Those that stay keep their counters and states.
    ///
    /// An empty list is what a failing source sends too: it never empties a group. Use
    /// [`Groups::clear`] to say that no endpoint is left.
    pub fn update(
        &self,
        group: &GroupName,
        endpoints: impl IntoIterator<Item = SocketAddr>,
    ) -> Update {
        let endpoints: Vec<SocketAddr> = endpoints.into_iter().collect();
        let change = self.change();
        if endpoints.is_empty() && !self.endpoints(group).is_empty() {
            tracing::warn!(%group, "empty list of endpoints held back");
            return Update::Held;
        }
        self.publish(&change, group, endpoints);
        Update::Applied
    }

    /// Whether health checks will report on every endpoint, by default not: if so, one that comes
    /// is [`EndpointState::Starting`] until the first report of [`Source::Health`].
    pub fn expect_checks(&self, checked: bool) {
        self.0.checked.store(checked, Ordering::Relaxed);
    }

    /// Takes all endpoints of `group` away; it stays known, with what it has in flight.
    pub fn clear(&self, group: &GroupName) {
        let change = self.change();
        self.publish(&change, group, Vec::new());
    }

    /// Forgets `group`, as when it is retired. Requests in flight are finished.
    pub fn remove(&self, group: &GroupName) {
        let _change = self.change();
        let mut table = Table::clone(&self.0.table.load());
        table.groups.remove(group);
        self.0.table.store(Arc::new(table));
    }

    /// How many requests `group` may have in flight; `None` for any number. The limit outlives
    /// every list, and may come before the first.
    pub fn limit(&self, group: &GroupName, limit: Option<usize>) {
        self.load(group, |load| load.set_limit(limit));
    }

    /// Keeps `percent` of the limit of `group` for requests that obey a pin, 0 by default: in an
    /// overload those that are new to the group are refused first. While requests that obey a pin
    /// have to be refused all the same, more is kept for them, up to all of it; ten seconds after
    /// the last one was, no more than this. It outlives every list as the
    /// limit does.
    pub fn reserve(&self, group: &GroupName, percent: u8) {
        self.load(group, |load| load.set_reserve(percent));
    }

    /// Drains those endpoints of `group`, and none of its others, for an operator: see
    /// [`EndpointState::Draining`]. It outlives every list, and may come before the first: an
    /// address that leaves its list and comes back is drained still.
    pub fn drain(&self, group: &GroupName, endpoints: impl IntoIterator<Item = SocketAddr>) {
        let drains: BTreeSet<SocketAddr> = endpoints.into_iter().collect();
        self.load(group, |load| load.set_drains(drains));
        let _change = self.change();
        if let Some(group) = self.0.table.load().get(group) {
            for endpoint in &group.endpoints {
                self.noting(group, endpoint, || group.load.mark(endpoint));
            }
            group.refresh(self.0.clock.now());
        }
    }

    /// Notes what `source` says about an endpoint. What is said about one that has left its group's
    /// list in the meantime is of no use.
    pub fn report(
        &self,
        group: &GroupName,
        address: SocketAddr,
        source: Source,
        state: EndpointState,
    ) {
        let _change = self.change();
        let table = self.0.table.load();
        // the word may be the one that ends the doubt, and nobody may have asked meanwhile
        self.doubted_until(&table);
        if let Some(group) = table.get(group) {
            let mut endpoints = group.endpoints.iter();
            if let Some(endpoint) = endpoints.find(|endpoint| endpoint.address() == address) {
                self.noting(group, endpoint, || endpoint.report(source, state));
            }
            group.refresh(self.0.clock.now());
        }
    }

    /// An endpoint that becomes ready by what is noted begins slowly.
    fn noting(&self, group: &Group, endpoint: &Endpoint, note: impl FnOnce()) {
        let was_ready = endpoint.is_ready();
        note();
        if !was_ready && endpoint.is_ready() {
            self.start(group, endpoint);
        }
    }

    /// The names of all groups, in no order.
    #[must_use]
    pub fn names(&self) -> Vec<GroupName> {
        self.0.table.load().groups.keys().cloned().collect()
    }

    /// The endpoints of `group`, in the order of its list; none if it is not known.
    #[must_use]
    pub fn endpoints(&self, group: &GroupName) -> Vec<Arc<Endpoint>> {
        let table = self.0.table.load();
        let endpoints = table
            .get(group)
            .map_or_else(Vec::new, |group| group.endpoints.clone());
        if endpoints.iter().any(|endpoint| endpoint.is_starting()) {
            // a start that is over is seen by who looks, also without requests
            let slow_start = table.balancing.slow_start;
            let now = self.0.clock.now();
            for endpoint in &endpoints {
                endpoint.share(slow_start, now);
            }
        }
        endpoints
    }

    /// How many requests `group` has: sent, and their body or tunnel has not ended.
    #[must_use]
    pub fn in_flight(&self, group: &GroupName) -> usize {
        let table = self.0.table.load();
        table.get(group).map_or(0, |group| group.load.in_flight())
    }

    /// How many requests `group` may have in flight; `None` for any number.
    #[must_use]
    pub fn max_in_flight(&self, group: &GroupName) -> Option<usize> {
        self.0.table.load().get(group)?.load.limit()
    }

    /// How many more requests `group` would take of those that obey no pin, such as those of sessions
    /// that move to it: what is kept for the others is left out. `None` for any number.
    #[must_use]
    pub fn room(&self, group: &GroupName) -> Option<usize> {
        let table = self.0.table.load();
        let load = &table.get(group)?.load;
        load.limit()?;
        Some(load.most().saturating_sub(load.in_flight()))
    }

    /// Answers and tunnels that are open under `id`: each was waited for at least once.
    #[must_use]
    pub fn open_streams(&self, id: &GroupId) -> Vec<OpenStream> {
        let table = self.0.table.load();
        let group = table.get(id.name());
        group.map_or_else(Vec::new, |group| group.load.open.streams(id))
    }

    /// Cuts everything that is open under `id`, and from now on whatever is opened under it. Says
    /// how much was cut.
    #[must_use = "what is cut is to be counted"]
    pub fn end(&self, id: &GroupId) -> usize {
        let table = self.0.table.load();
        let Some(group) = table.get(id.name()) else {
            return 0;
        };
        group.load.open.end(id);
        let streams = group.load.open.streams(id);
        streams.iter().filter(|stream| stream.cut()).count()
    }

    /// Whether `group` counts when it is judged if checks fail too widely to be believed; by
    /// default it does. One that is not meant to serve, such as an aborted one, must not.
    pub fn judge(&self, group: &GroupName, counts: bool) {
        if let Some(group) = self.0.table.load().get(group) {
            group.load.set_judged(counts);
        }
    }

    /// For how long a group is still tried after the last of its endpoints failed its checks, and
    /// after those of most groups had failed; not at all by default. Endpoints are checked one by
    /// one: if it is the checks that are wrong, one group fails them, and passes them again, a
    /// moment before the others.
    pub fn hesitate(&self, within: Duration) {
        self.0.doubt.hesitate(within);
    }

    /// How endpoints are chosen and left out from now on, in all groups. What is known of endpoints
    /// stays.
    pub fn balance(&self, balancing: Balancing) {
        let _change = self.change();
        let mut table = Table::clone(&self.0.table.load());
        table.balancing = balancing;
        self.0.table.store(Arc::new(table));
    }

    /// How often an endpoint of `group` was ejected for `reason`; an ejection that is prolonged
    /// counts once more.
    #[must_use]
    pub fn ejections(&self, group: &GroupName, reason: EjectionReason) -> u64 {
        let table = self.0.table.load();
        let count = table.get(group).and_then(|g| g.load.ejections(reason));
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Whether what is known of the endpoints of `group` is ignored, because too few would be left.
    #[must_use]
    pub fn panics(&self, group: &GroupName) -> bool {
        let table = self.0.table.load();
        table.get(group).is_some_and(|group| {
            panics(&group.endpoints, || self.doubts(&table, group))
                || group.is_usable() && group.endpoints.iter().all(|e| e.ejection().is_on())
        })
    }

    /// What became of an attempt at the endpoint of `lease`: to be said once for each attempt that
    /// the endpoint, and not the client, has ended.
    pub(super) fn note(&self, lease: &Lease, outcome: Outcome) {
        let endpoint = lease.endpoint();
        let failed = outcome.is_failure();
        if let Some(began) = lease.began() {
            let now = self.0.clock.now();
            let failed = failed || matches!(outcome, Outcome::Answered(s) if s.is_server_error());
            endpoint.latency().observe(now.since(began), failed, now);
        }
        if !failed {
            if endpoint.ejection().succeeds(lease.epoch()) {
                let (group, address) = (lease.group(), endpoint.address());
                tracing::info!(%group, %address, "ejected endpoint serves again");
                self.returns(lease);
            }
        } else if lease.epoch() == endpoint.ejection().epoch() {
            let reason = match outcome {
                Outcome::Unreached => EjectionReason::Connect,
                Outcome::WrongGroup => EjectionReason::WrongGroup,
                _ => EjectionReason::Failures,
            };
            let policy = self.0.table.load().balancing.ejection;
            let fails = endpoint.ejection().fails(&policy);
            if fails || reason != EjectionReason::Failures {
                self.eject(lease, reason, &policy);
            }
        }
        lease.probed();
    }

    /// Whether `group` has an endpoint besides `tried` that would be asked and is not ejected.
    pub(super) fn has_others(&self, group: &GroupName, tried: &[SocketAddr]) -> bool {
        let table = self.0.table.load();
        table.get(group).is_some_and(|group| {
            let panics = panics(&group.endpoints, || self.doubts(&table, group));
            group.endpoints.iter().any(|endpoint| {
                (endpoint.is_ready() || panics && endpoint.is_usable())
                    && !endpoint.ejection().is_on()
                    && !tried.contains(&endpoint.address())
            })
        })
    }

    fn eject(&self, lease: &Lease, reason: EjectionReason, policy: &EjectionPolicy) {
        let _change = self.change();
        let (endpoint, name) = (lease.endpoint(), lease.group());
        let ejection = endpoint.ejection();
        let table = self.0.table.load();
        let Some(group) = table.get(name) else { return };
        // a group that fails as a whole is not emptied: there, the failures are the application's
        let spares = reason == EjectionReason::Failures && group.has_ejected_enough();
        if spares && !ejection.is_on() {
            return;
        }
        if let Some(span) = ejection.begin(policy, self.0.clock.now()) {
            group.unsettle();
            if let Some(count) = group.load.ejections(reason) {
                count.fetch_add(1, Ordering::Relaxed);
            }
            let (address, reason) = (endpoint.address(), reason.as_str());
            tracing::warn!(group = %name, %address, reason, ?span, "endpoint ejected");
        }
    }

    /// An endpoint takes requests once more.
    fn returns(&self, lease: &Lease) {
        let _change = self.change();
        let table = self.0.table.load();
        if let Some(group) = table.get(lease.group()) {
            self.start(group, lease.endpoint());
            group.refresh(self.0.clock.now());
        }
    }

    /// See [`Doubt::is_on`].
    /// When the checks of most groups failed last; `None` while they do.
    pub(super) fn doubted_until(&self, table: &Table) -> Option<Timestamp> {
        self.0.doubt.until(table, || self.0.clock.now())
    }

    pub(super) fn doubts(&self, table: &Table, group: &Group) -> bool {
        self.0.doubt.is_on(table, group, || self.0.clock.now())
    }

    pub(super) fn table(&self) -> Guard<Arc<Table>> {
        self.0.table.load()
    }

    pub(super) fn start_of_time(&self) -> Timestamp {
        self.0.start
    }

    fn start(&self, group: &Group, endpoint: &Endpoint) {
        let slow_start = self.0.table.load().balancing.slow_start;
        if !slow_start.is_zero() && group.has_others(endpoint) {
            endpoint.start(self.0.clock.now());
            group.unsettle();
        }
    }

    /// A place at an endpoint of the wanted group.
    pub(crate) fn acquire(&self, wanted: &Wanted<'_>) -> Result<Lease, Unserved> {
        let name = wanted.id.name();
        let table = self.0.table.load();
        let Some(group) = table.get(name) else {
            return Err(Unserved::NoReadyEndpoint(name.clone()));
        };
        let balancing = &table.balancing;
        let now = || self.0.clock.now();
        let picked = self.pick(&table, group, wanted);
        let picked = picked.map_err(|missing| match missing {
            Missing::Ready => Unserved::NoReadyEndpoint(name.clone()),
            Missing::Room => group.refuse(wanted, now()),
        })?;
        let began = (balancing.choice == Choice::PeakEwma).then(now);
        let limit = balancing.max_in_flight.unwrap_or(usize::MAX);
        let most = limit.saturating_mul(group.endpoints.len());
        let lease = Lease::acquire(wanted, &group.load, &picked, (limit, most), (began, now));
        lease.ok_or_else(|| {
            if picked.probes {
                picked.endpoint.ejection().probed();
            }
            group.refuse(wanted, now())
        })
    }

    /// The endpoint that is bound to serve, or any. Where nothing is known against one of them they
    /// are not looked at one by one: what a request costs does not grow with their number.
    fn pick<'a>(
        &self,
        table: &Table,
        group: &'a Group,
        wanted: &Wanted<'_>,
    ) -> Result<Picked<'a>, Missing> {
        let (endpoints, avoid, balancing) = (&group.endpoints, wanted.avoid, &table.balancing);
        let now = || self.0.clock.now();
        let doubtful = || self.doubts(table, group);
        let is_calm = self.is_calm(group);
        let chosen = wanted.bound.and_then(|bound| {
            let panics = !is_calm && panics(endpoints, doubtful);
            choose(endpoints, &bound, avoid, balancing, panics, now)
        });
        let any = || (is_calm && avoid.is_empty()).then(|| pick_any(endpoints, balancing, now));
        let chosen = chosen.or_else(|| any().flatten());
        chosen.map_or_else(|| pick(endpoints, avoid, balancing, doubtful, now), Ok)
    }

    /// See [`Group::is_calm`]. Starts and ejections end while requests are served, without a note:
    /// the first request after that notes it.
    fn is_calm(&self, group: &Group) -> bool {
        if !group.is_calm() && group.has_settled() {
            let _change = self.change();
            group.settle();
        }
        group.is_calm()
    }

    fn comes(&self, address: SocketAddr, load: &Load) -> Endpoint {
        let endpoint = Endpoint::new(address);
        load.mark(&endpoint);
        if self.0.checked.load(Ordering::Relaxed) {
            endpoint.report(Source::Health, EndpointState::Starting);
        }
        endpoint
    }

    /// Sets something that may come before the first list.
    fn load(&self, group: &GroupName, set: impl FnOnce(&Load)) {
        let change = self.change();
        if self.0.table.load().get(group).is_none() {
            self.publish(&change, group, Vec::new());
        }
        if let Some(group) = self.0.table.load().get(group) {
            set(&group.load);
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    fn change(&self) -> MutexGuard<'_, ()> {
        // the table is swapped whole: it is right even after another thread panicked
        self.0
            .changing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, _: &MutexGuard<'_, ()>, name: &GroupName, addresses: Vec<SocketAddr>) {
        let mut table = Table::clone(&self.0.table.load());
        let now = self.0.clock.now();
        let old = table.get(name);
        let load = old.map_or_else(
            || Arc::new(Load::new(name.clone(), now)),
            |old| Arc::clone(&old.load),
        );
        let mut seen = HashSet::new();
        let endpoints = addresses
            .into_iter()
            .filter(|address| seen.insert(*address));
        let endpoints = endpoints.map(|address| {
            old.and_then(|old| old.endpoints.iter().find(|e| e.address() == address))
                .map_or_else(|| Arc::new(self.comes(address, &load)), Arc::clone)
        });
        let endpoints: Vec<Arc<Endpoint>> = endpoints.collect();
        let group = Group::new(endpoints, load);
        group.refresh(now);
        if let Some(old) = old {
            let is_new = |e: &&Arc<Endpoint>| !old.endpoints.iter().any(|o| Arc::ptr_eq(o, e));
            let stays = |e: &Arc<Endpoint>| old.endpoints.iter().any(|o| Arc::ptr_eq(o, e));
            if group.endpoints.iter().any(stays) {
                group
                    .endpoints
                    .iter()
                    .filter(is_new)
                    .for_each(|e| self.start(&group, e));
            }
        }
        table.groups.insert(name.clone(), Arc::new(group));
        self.0.table.store(Arc::new(table));
    }
}

#[cfg(feature = "tokio")]
impl Groups {
    /// A handle that does not keep the groups.
    pub(crate) fn downgrade(&self) -> WeakGroups {
        WeakGroups(Arc::downgrade(&self.0))
    }
}

/// A handle of groups that does not keep them: for whoever feeds them as long as they are needed.
#[cfg(feature = "tokio")]
pub(crate) struct WeakGroups(std::sync::Weak<Shared>);

#[cfg(feature = "tokio")]
impl WeakGroups {
    pub(crate) fn upgrade(&self) -> Option<Groups> {
        self.0.upgrade().map(Groups)
    }
}

impl Default for Groups {
    fn default() -> Self {
        Self::new(SystemClock::new())
    }
}

impl std::fmt::Debug for Groups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let table = self.0.table.load();
        f.debug_tuple("Groups").field(&table.groups).finish()
    }
}
