//! [`Control`]: the handle of the control plane.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tower_affinity::balance::Groups;
use tower_affinity::core::analysis::Terms;
use tower_affinity::core::{
    Clock, GroupName, Level, Lifetimes, PinCodec, Policy, Rollout, Timestamp, obeyed,
};
use tower_affinity::wire::PathPattern;
use tower_affinity::{CookieAttributes, Expiries, Rollouts};

use super::error::ControlError;
use super::expiries::KeptExpiries;
use super::live::Live;
use super::peers::{Peers, Served};
use super::publish::publish_endpoints;
use super::shared::{Member, Shared, Source};
use super::sources::Sources;
use super::store::{Kept, StateFile, StoreError};
use crate::config::Settings;
use crate::events::Events;

/// The control plane of one gateway. Clones share it.
#[derive(Clone, Debug)]
pub struct Control(pub(super) Arc<Plane>);

#[derive(Debug)]
pub(super) struct Plane {
    pub(super) rollouts: Rollouts,
    pub(super) groups: Groups,
    pub(super) expiries: Expiries,
    clock: SharedClock,
    events: Events,
    pub(super) file: StateFile,
    live: Mutex<Live>,
    /// Held while the state file is written, and taken before `live`: who only looks does not wait
    /// for a slow disk.
    saving: Mutex<()>,
    pub(super) peers: Peers,
    pub(super) sources: Sources,
    /// What other replicas share with this one; `None` for the only one.
    shared: Option<Arc<Shared>>,
}

struct SharedClock(Arc<dyn Clock>);

impl std::fmt::Debug for SharedClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SharedClock")
    }
}

/// What a gateway starts from.
#[derive(Debug)]
pub struct Start {
    /// The control plane.
    pub control: Control,
    /// The codec of the pins.
    pub codec: Arc<PinCodec>,
}

impl Control {
    /// Reads the state file, or makes the first state from the settings, and applies what was
    /// edited since.
    ///
    /// # Errors
    ///
    /// If the state file is damaged, or the edits are refused.
    pub fn start(
        settings: &Settings,
        groups: Groups,
        clock: Arc<dyn Clock>,
    ) -> Result<Start, ControlError> {
        let file = StateFile::new(settings.state.file.clone());
        Self::start_from(file, settings, groups, clock)
    }

    /// As [`Control::start`], with the state of a process that is being taken over: nothing is
    /// written before [`Control::own`].
    pub(crate) fn take_over(
        settings: &Settings,
        groups: Groups,
        clock: Arc<dyn Clock>,
    ) -> Result<Start, ControlError> {
        let file = StateFile::of_another(settings.state.file.clone());
        Self::start_from(file, settings, groups, clock)
    }

    fn start_from(
        file: StateFile,
        settings: &Settings,
        groups: Groups,
        clock: Arc<dyn Clock>,
    ) -> Result<Start, ControlError> {
        let kept = match file.load()? {
            Some(kept) => kept,
            None => Kept::first(settings, clock.now())?,
        };
        Self::begin(file, settings, groups, clock, (kept, None))
    }

    /// Begins with what is kept, and applies what was edited since.
    pub(super) fn begin(
        file: StateFile,
        settings: &Settings,
        groups: Groups,
        clock: Arc<dyn Clock>,
        (mut kept, shared): (Kept, Option<(Arc<Shared>, Served)>),
    ) -> Result<Start, ControlError> {
        let mut lost_until = clock.now().plus(settings.pin.lifetimes.max_age());
        if file.owner().is_another() {
            // the other process issues pins until it has drained
            lost_until = lost_until.plus(settings.listen.drain);
        }
        let expiries = kept.expiries.restore(&kept.rollout, lost_until);
        kept.expiries = KeptExpiries::so_far(&expiries);
        let (shared, served) = shared.unzip();
        let events = match &shared {
            Some(shared) => shared.events().clone(),
            None => Events::new(Arc::clone(&clock)),
        };
        let rollout = obeyed(&kept.rollout, &kept.facts);
        let rollouts = match &shared {
            Some(shared) => Rollouts::with_source(rollout, Source(Arc::clone(shared.fetches()))),
            None => Rollouts::fixed(rollout),
        };
        let live = Live::of(settings, kept)?;
        let codec = Arc::clone(&live.codec);
        let control = Self(Arc::new(Plane {
            rollouts,
            groups,
            expiries,
            clock: SharedClock(clock),
            events,
            file,
            live: Mutex::new(live),
            saving: Mutex::new(()),
            peers: Peers::default(),
            sources: Sources::default(),
            shared,
        }));
        control.served(served.unwrap_or(Served::Never));
        control.apply(settings)?;
        Ok(Start { control, codec })
    }

    /// This replica among those that share its state; `None` if it is the only one.
    pub(crate) fn member(&self) -> Option<Member> {
        let shared = self.0.shared.clone()?;
        Some(Member::new(self.clone(), shared))
    }

    /// The rollout's handle, which the layers read.
    #[must_use]
    pub fn rollouts(&self) -> &Rollouts {
        &self.0.rollouts
    }

    /// The endpoints of all groups, which the balancer reads.
    #[must_use]
    pub fn groups(&self) -> &Groups {
        &self.0.groups
    }

    /// Until when pins to each group can be valid, which the layers feed.
    #[must_use]
    pub fn expiries(&self) -> &Expiries {
        &self.0.expiries
    }

    /// The codec of the settings last applied.
    #[must_use]
    pub fn codec(&self) -> Arc<PinCodec> {
        Arc::clone(&self.live().codec)
    }

    /// How long pins live by the settings last applied.
    #[must_use]
    pub fn lifetimes(&self) -> Lifetimes {
        self.live().lifetimes
    }

    /// The cookies of earlier configurations that browsers may still hold once `settings` are
    /// applied.
    #[must_use]
    pub fn former_cookies(&self, settings: &Settings) -> Vec<CookieAttributes> {
        let max_age = settings.pin.lifetimes.max_age();
        let cookies = &self.live().kept.cookies;
        cookies
            .with(&settings.pin.cookie, self.now(), max_age)
            .former(&settings.service)
    }

    /// Within what time the streams of a group are cut by the settings last applied.
    #[must_use]
    pub fn streams(&self) -> Duration {
        self.live().streams
    }

    /// The scope of a path by the settings last applied, and what it asks of the rule.
    #[must_use]
    pub fn scope_of(&self, path: &str) -> Option<(PathPattern, Policy)> {
        let live = self.live();
        let scope = live.scopes.iter().find(|scope| scope.path.matches(path))?;
        let policy = Policy {
            lifetimes: live.lifetimes,
            ..*scope.scope().policy()
        };
        Some((scope.path.clone(), policy))
    }

    /// On what terms canaries are judged by the settings last applied.
    #[must_use]
    pub fn terms(&self) -> Terms {
        self.live().analysis.terms
    }

    /// Whether a canary that is worse is aborted by the settings last applied.
    #[must_use]
    pub fn aborts_on_worse(&self) -> bool {
        self.live().analysis.abort_on_worse
    }

    /// Whether a scope of the settings last applied binds sessions like that.
    #[must_use]
    pub fn binds(&self, level: Level) -> bool {
        let live = self.live();
        live.scopes.iter().any(|scope| scope.affinity == level)
    }

    /// The clock of pins and of the rollout.
    #[must_use]
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.0.clock.0)
    }

    /// What has happened.
    #[must_use]
    pub fn events(&self) -> &Events {
        &self.0.events
    }

    /// The present time as pins see it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.clock.0.now()
    }

    /// When what is open in a draining group is ended here: no pin to it can be valid then. `None`
    /// if it does not drain.
    #[must_use]
    pub fn cut_at(&self, group: &GroupName) -> Option<Timestamp> {
        let rollout = self.0.rollouts.current();
        let live = self.live();
        self.fleet_of(&live)
            .cut_at(rollout.group(group)?, live.bounds())
    }

    /// Takes a state that is accepted, and obeys it: endpoints are published before groups, so
    /// that no group is decided for whose endpoints are not known yet.
    pub(super) fn accept(&self, live: &mut Live, rollout: Rollout) {
        let plane = &*self.0;
        let kept = &mut live.kept;
        kept.endpoints.extend(live.configured.clone());
        kept.endpoints.extend(live.discovered.clone());
        for name in live.sources.keys() {
            kept.endpoints.entry(name.clone()).or_default();
        }
        let known = |name: &String| rollout.groups().iter().any(|g| g.name().as_str() == name);
        kept.new_groups.retain(|name| !known(name));
        let new_groups = &kept.new_groups;
        kept.endpoints
            .retain(|name, _| known(name) || new_groups.contains(name));
        let endpoints = &kept.endpoints;
        kept.drains.retain(|name, _| endpoints.contains_key(name));
        kept.rollout = rollout;
        let obeyed = obeyed(&kept.rollout, &kept.facts);
        let published: Result<_, std::convert::Infallible> = plane.rollouts.update(|_| {
            plane.expiries.retain(&obeyed);
            publish_endpoints(&plane.groups, &obeyed, kept, &live.limits);
            Ok(obeyed)
        });
        match published {
            Ok(_) => self.acknowledge(live),
            Err(never) => match never {},
        }
    }

    /// Keeps until when pins are valid, if that has moved since it was kept.
    ///
    /// Blocks while the state file is written.
    ///
    /// # Errors
    ///
    /// If it cannot be kept.
    pub fn keep_expiries(&self) -> Result<(), StoreError> {
        self.keep(KeptExpiries::so_far(&self.0.expiries))
    }

    /// Keeps the same for good, once no request is served any more: the next start needs not
    /// assume that pins were issued since.
    ///
    /// # Errors
    ///
    /// As [`Control::keep_expiries`].
    pub fn close(&self) -> Result<(), StoreError> {
        self.keep(KeptExpiries::complete(&self.0.expiries))
    }

    fn keep(&self, expiries: KeptExpiries) -> Result<(), StoreError> {
        let _saving = self.saving();
        // what is issued here is counted by the process that has taken over
        if self.0.file.owner().is_sealed() {
            return Ok(());
        }
        let kept = self.live().kept.clone();
        if kept.expiries == expiries {
            return Ok(());
        }
        let kept = Kept { expiries, ..kept };
        self.0.file.save(&kept)?;
        self.live().kept.expiries = kept.expiries;
        Ok(())
    }

    /// Keeps what was accepted.
    pub(super) fn save(&self) -> Result<(), StoreError> {
        let _saving = self.saving();
        let kept = self.live().kept.clone();
        self.0.file.save(&kept)
    }

    /// Keeps what was accepted, and until when pins are valid.
    pub(super) fn save_so_far(&self) -> Result<(), StoreError> {
        self.live().kept.expiries = KeptExpiries::so_far(&self.0.expiries);
        self.save()
    }

    pub(super) fn saving(&self) -> MutexGuard<'_, ()> {
        self.0.saving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn live(&self) -> MutexGuard<'_, Live> {
        // every change replaces what is in it as a whole, so it is whole after a panic too
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
