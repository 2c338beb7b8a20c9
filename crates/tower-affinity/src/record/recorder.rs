//! [`Recorder`]: everything that the layers count.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use http::{Extensions, StatusCode};
use metrics::{Counter, Key, Label};
use tower_affinity_core::{
    Cause, Cohort, Decision, Fault, GroupName, KeyId, Kind, LiveSketch, Outcomes, Rollout,
    ServiceName, SessionPin, State, Timestamp,
};

use super::account::Account;
use super::bursts::Watched;
use super::common::Common;
use super::local::LocalSeries;
use super::names;
use super::once::Once;
use super::retry::RetryOutcome;
use super::returned::Returned;
use super::running::Running;
use super::series::{CodeClass, Labels, Series};
use super::settled::key_of;
use super::source::{Kept, Source};
use crate::balance::{EjectionReason, EndpointState, Groups};
use crate::by_name::ByName;
use crate::{Affinity, Arms};

/// What counts requests and pins: a cheap handle that all layers of a stack share.
///
/// Whoever ends a request counts it, once, through this. Handles of the `metrics` crate are kept
/// from their first use after the application has installed its recorder.
#[derive(Clone, Default)]
pub struct Recorder(Arc<Shared>);

#[derive(Default)]
struct Shared {
    common: Arc<Common>,
    groups: ArcSwap<ByName<Arc<str>, Arc<Series>>>,
    keys: KeyCounters,
    rejected: Rejected,
    planted: Kept<Counter>,
    claims_dropped: Kept<Counter>,
    signals_ignored: Kept<Counter>,
    returned: Returned,
    confirmed: Once,
    local: LocalSeries,
    watched: Watched,
    /// Held while a table above grows or shrinks.
    changing: Mutex<Shown>,
}

/// Pins that were obeyed, by key. There are few keys, and none is forgotten: so they are in a row to
/// which one is added at its end, and who counts follows pointers and holds nothing.
#[derive(Default)]
struct KeyCounters(OnceLock<Box<KeyCounter>>);

struct KeyCounter {
    key: KeyId,
    counter: Kept<Counter>,
    next: KeyCounters,
}

impl KeyCounters {
    /// The counter of `key`, which gets one if it has none.
    fn of(&self, key: &KeyId) -> &Kept<Counter> {
        let mut place = self;
        loop {
            let here = place.0.get_or_init(|| {
                Box::new(KeyCounter {
                    key: key.clone(),
                    counter: Kept::default(),
                    next: Self::default(),
                })
            });
            if here.key == *key {
                return &here.counter;
            }
            place = &here.next;
        }
    }
}

/// Pins that were not obeyed, by cause.
struct Rejected([Kept<Counter>; Cause::ALL.len()]);

impl Default for Rejected {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Kept::default()))
    }
}

/// Groups whose gauges show something.
#[derive(Default)]
struct Shown {
    rollout: BTreeSet<GroupName>,
    endpoints: BTreeSet<GroupName>,
}

/// The labels of requests without a known group.
const NO_GROUP: [&str; 2] = ["none", UNKNOWN];

/// The label of a group whose name is not told.
const UNKNOWN: &str = "unknown";

/// The most groups that are counted apart: four times what a configuration may have.
const MOST_GROUPS: usize = 256;

impl Recorder {
    /// Feeds `recorder` instead of the global one of the `metrics` crate, as two stacks in one
    /// process need it.
    #[must_use]
    pub fn new(recorder: Arc<dyn metrics::Recorder + Send + Sync>) -> Self {
        let common = Common {
            source: Source::own(recorder),
            ..Common::default()
        };
        Self(Arc::new(Shared {
            common: Arc::new(common),
            ..Shared::default()
        }))
    }

    /// Counts a request that was answered before any decision, as by a limit.
    pub fn early(&self, status: StatusCode) {
        let labels = Labels {
            kind: Some(Kind::Refused),
            cause: Cause::Early,
            cohort: Cohort::None,
        };
        self.with("none", |series| {
            series.request(labels, CodeClass::of(status));
        });
    }

    /// Shows a rollout: to be called with each that is published, as from
    /// [`Rollouts::subscribe`](crate::Rollouts::subscribe). The series of groups that it does not
    /// hold any more go to 0.
    pub fn rollout(&self, rollout: &Rollout) {
        let source = self.source();
        let mut shown = self.changing();
        let present = rollout.groups().iter().map(|group| group.name().clone());
        let gone = std::mem::replace(&mut shown.rollout, present.collect());
        for group in gone.difference(&shown.rollout) {
            self.show_group(group, 0, None);
        }
        for group in rollout.groups() {
            self.show_group(group.name(), group.weight().get(), Some(group.state()));
        }
        source.set(names::REVISION, Vec::new(), rollout.revision().0 as f64);
        let mut kept = ByName::clone(&self.0.groups.load());
        kept.retain(|group, _| {
            let mut names = shown.rollout.iter().map(GroupName::as_str);
            NO_GROUP.contains(&&**group) || names.any(|name| name == &**group)
        });
        self.0.groups.store(Arc::new(kept));
    }

    /// Shows how many endpoints of each group are in which state, how often one was ejected, and
    /// whether that is ignored: to be called when lists or
    /// states have changed, or before each scrape.
    pub fn endpoints(&self, groups: &Groups) {
        let mut shown = self.changing();
        let gone = std::mem::replace(&mut shown.endpoints, groups.names().into_iter().collect());
        for group in gone.union(&shown.endpoints) {
            let endpoints = groups.endpoints(group);
            for state in EndpointState::ALL {
                let count = endpoints.iter().filter(|e| e.state() == state).count();
                let state = Label::from_static_parts("state", state.as_str());
                let labels = vec![group_label(group), state];
                self.source().set(names::ENDPOINTS, labels, count as f64);
            }
            let panics = f64::from(u8::from(groups.panics(group)));
            let source = self.source();
            source.set(names::PANIC, vec![group_label(group)], panics);
            for reason in EjectionReason::ALL {
                let count = groups.ejections(group, reason);
                if count > 0 {
                    let reason = Label::from_static_parts("reason", reason.as_str());
                    source.counted(names::EJECTIONS, vec![group_label(group), reason], count);
                }
            }
        }
    }

    /// Counts answers and tunnels that were cut because their group was `aborted` or had drained.
    pub fn streams_cut(&self, group: &GroupName, cause: &'static str, count: usize) {
        let cause = Label::from_static_parts("cause", cause);
        let labels = vec![group_label(group), cause];
        self.source()
            .count(names::STREAMS_CUT, labels, count as u64);
    }

    /// Counts a session in the experiments that it meets with this answer.
    pub(crate) fn exposed(&self, arms: &Arms) {
        for (experiment, arm) in arms.news() {
            let label = |name, value: &str| Label::new(name, value.to_owned());
            let experiment = label("experiment", experiment.as_str());
            let labels = vec![experiment, label("arm", arm.as_str())];
            self.source().count(names::EXPOSURES, labels, 1);
        }
    }

    /// Counts a pin to a group that was said to be drained.
    pub fn late_pin(&self, group: &GroupName) {
        self.source()
            .count(names::LATE_PINS, vec![group_label(group)], 1);
    }

    /// Shows how many sessions of each group are live: to be called before each scrape.
    pub fn sessions(&self, now: Timestamp) {
        for series in self.0.groups.load().values() {
            if !NO_GROUP.contains(&series.group()) {
                let label = Label::new("group", series.group().to_owned());
                self.source()
                    .set(names::LIVE, vec![label], series.live(now).count().round());
            }
        }
    }

    /// How many sessions of `group` returned their pin within the idle lifetime before `now` and have
    /// neither ended nor moved away, to about 5 % (see [`LiveSketch::count`]).
    #[must_use]
    pub fn live_sessions(&self, group: &GroupName, now: Timestamp) -> u64 {
        self.live_sketch(group, now).count().round() as u64
    }

    /// The same sessions as a sketch, whose union with those of other replicas counts each session
    /// once.
    #[must_use]
    pub fn live_sketch(&self, group: &GroupName, now: Timestamp) -> LiveSketch {
        let groups = self.0.groups.load();
        let series = groups.get(group.as_str());
        series.map(|series| series.live(now)).unwrap_or_default()
    }

    /// A session showed `pin`, and this is what was decided.
    pub(crate) fn session_seen(
        &self,
        pin: &SessionPin,
        decision: &Decision,
        now: Timestamp,
        idle: Duration,
    ) {
        if !matches!(decision.kind, Kind::Pinned | Kind::Moved) {
            return;
        }
        let has_come = decision.kind == Kind::Moved && pin.group.known().is_some();
        self.with(decision.group_label(), |series| {
            series.seen(pin.session, now, idle);
            if has_come {
                series.arrived(pin.session);
            }
        });
        let left = |series: &Series| series.left(pin.session, now, idle);
        if has_come {
            self.with(pin.group.label(), left);
        }
        let is_first = pin.issued == pin.started && pin.moves == 0;
        if is_first && self.0.confirmed.is_new(key_of(pin)) {
            self.with(pin.group.label(), Series::confirmed);
        }
    }

    pub(super) fn start(&self, extensions: &Extensions) -> Running {
        let affinity: Option<&Affinity> = extensions.get();
        let group = affinity.map_or("unknown", Affinity::group);
        let account = Account::of(extensions).cloned();
        Running::start(self.series(group), affinity.cloned(), account)
    }

    pub(crate) fn refused(&self, decision: &Decision, status: StatusCode) {
        let class = CodeClass::of(status);
        self.with(decision.group_label(), |series| {
            series.request(decision.into(), class);
            if class.is_failure() {
                series.turned_out(decision, Outcomes::FAILED);
            }
        });
    }

    pub(crate) fn wrong_group(&self, group: &GroupName) {
        self.with(group.as_str(), Series::wrong_group);
    }

    /// A request for another group was refused by an endpoint of `group`.
    pub(crate) fn misdirected(&self, group: &GroupName) {
        self.with(group.as_str(), Series::misdirected);
    }

    pub(crate) fn retry(&self, group: &GroupName, outcome: RetryOutcome) {
        self.with(group.as_str(), |series| series.retry(outcome));
    }

    /// The first pin of a session is on its way to the client.
    pub(crate) fn pin_issued(&self) {
        let Some(missing) = self.0.returned.issued() else {
            return;
        };
        if missing {
            tracing::warn!("issued pins do not come back: something drops our cookie");
        }
        let missing = f64::from(u8::from(missing));
        self.source().set(names::NOT_RETURNED, Vec::new(), missing);
    }

    pub(crate) fn pin_verified(&self, key: &KeyId) {
        self.0.returned.returned();
        let series = || Key::from_parts(names::VERIFIED, vec![kid_label(key)]);
        let counter = self.0.keys.of(key);
        counter.with(self.source(), series, |counter| counter.increment(1));
    }

    pub(crate) fn pin_rejected(&self, fault: Fault) {
        let cause = Cause::from(fault);
        if let Some(handle) = self.0.rejected.0.get(cause as usize) {
            let cause = Label::from_static_parts("cause", cause.as_str());
            self.count(handle, names::REJECTED, vec![cause], 1);
        }
    }

    pub(crate) fn override_rejected(&self, fault: Fault) {
        let cause = Label::from_static_parts("cause", Cause::from(fault).as_str());
        let source = self.source();
        source.count(names::OVERRIDES_REJECTED, vec![cause], 1);
    }

    pub(crate) fn planted(&self, count: usize) {
        self.count(&self.0.planted, names::PLANTED, Vec::new(), count as u64);
    }

    pub(crate) fn claims_dropped(&self) {
        self.count(&self.0.claims_dropped, names::CLAIMS_DROPPED, Vec::new(), 1);
    }

    /// A trusted caller has shown a pin of its own, which was a key unless it has that fault.
    pub(crate) fn caller_pin(&self, caller: &ServiceName, fault: Option<Fault>) {
        let outcome = fault.map_or(Cause::Keyed, Cause::from).as_str();
        let labels = vec![
            Label::new("caller", caller.as_str().to_owned()),
            Label::from_static_parts("outcome", outcome),
        ];
        self.source().count(names::CALLER_PINS, labels, 1);
    }

    pub(crate) fn signal_ignored(&self) {
        let handle = &self.0.signals_ignored;
        self.count(handle, names::SIGNALS_IGNORED, Vec::new(), 1);
    }

    fn count(&self, handle: &Kept<Counter>, name: &'static str, labels: Vec<Label>, by: u64) {
        let key = || Key::from_parts(name, labels);
        handle.with(self.source(), key, |counter| counter.increment(by));
    }

    /// The series of a group. Names come from the rollout, so there are few; where they come from
    /// somebody who tells us, what is beyond [`MOST_GROUPS`] is `unknown`.
    pub(super) fn series(&self, group: &str) -> Arc<Series> {
        let known = self.0.groups.load().get(group).cloned();
        known.unwrap_or_else(|| self.added(group))
    }

    /// Counts something in the series of a group, without a handle of its own.
    pub(super) fn with<T>(&self, group: &str, count: impl FnOnce(&Series) -> T) -> T {
        match self.0.groups.load().get(group) {
            Some(series) => count(series),
            None => count(&self.added(group)),
        }
    }

    /// The series of a group that has none yet.
    fn added(&self, group: &str) -> Arc<Series> {
        let _shown = self.changing();
        let mut groups = ByName::clone(&self.0.groups.load());
        let group = match groups.len() < MOST_GROUPS || groups.contains_key(group) {
            true => group,
            false => UNKNOWN,
        };
        // another thread may have come first
        if let Some(series) = groups.get(group) {
            return Arc::clone(series);
        }
        let name: Arc<str> = group.into();
        let series = Series::new(Arc::clone(&name), Arc::clone(&self.0.common));
        let series = Arc::new(series);
        groups.insert(name, Arc::clone(&series));
        self.0.groups.store(Arc::new(groups));
        series
    }

    fn show_group(&self, group: &GroupName, weight: u16, state: Option<&State>) {
        let weight = f64::from(weight);
        let source = self.source();
        source.set(names::WEIGHT, vec![group_label(group)], weight);
        for name in State::NAMES {
            let is_in = state.is_some_and(|state| state.name() == name);
            let labels = vec![group_label(group), Label::from_static_parts("state", name)];
            source.set(names::STATE, labels, f64::from(u8::from(is_in)));
        }
    }

    pub(super) fn groups(&self) -> Arc<ByName<Arc<str>, Arc<Series>>> {
        self.0.groups.load_full()
    }

    pub(super) fn common(&self) -> &Common {
        &self.0.common
    }

    pub(super) fn watched(&self) -> &Watched {
        &self.0.watched
    }

    pub(super) fn local(&self) -> &LocalSeries {
        &self.0.local
    }

    pub(super) fn source(&self) -> &Source {
        &self.0.common.source
    }

    fn changing(&self) -> std::sync::MutexGuard<'_, Shown> {
        // tables are swapped whole: they are right even after another thread panicked
        let guard = self.0.changing.lock();
        guard.unwrap_or_else(PoisonError::into_inner)
    }
}

fn group_label(group: &GroupName) -> Label {
    Label::new("group", group.as_str().to_owned())
}

fn kid_label(key: &KeyId) -> Label {
    Label::new("kid", key.to_string())
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recorder").field(self.source()).finish()
    }
}
