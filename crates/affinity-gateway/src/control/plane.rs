//! [`Control`]: runs changes one after another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tower_affinity::balance::Groups;
use tower_affinity::core::{
    Change, Clock, CodeCollision, GroupName, Lifetimes, PinCodec, Refusal, Revision, Rollout,
    Timestamp,
};
use tower_affinity::{CookieAttributes, Expiries, Rollouts};

use super::cookies::CookieUse;
use super::edit::{applied, edited};
use super::error::ControlError;
use super::expiries::KeptExpiries;
use super::first::first_rollout;
use super::keys::rotated;
use super::preview::Decided;
use super::publish::{claimed_twice, publish_endpoints};
use super::store::{Kept, StateFile, StoreError};
use super::verb::{Request, Terms, Verb};
use crate::causes::with_causes;
use crate::config::{RollbackPolicy, ScopeSetting, Settings};

/// The control plane of one gateway. Clones share it.
#[derive(Clone, Debug)]
pub struct Control(Arc<Plane>);

#[derive(Debug)]
struct Plane {
    rollouts: Rollouts,
    groups: Groups,
    expiries: Expiries,
    clock: SharedClock,
    file: StateFile,
    live: Mutex<Live>,
}

struct SharedClock(Arc<dyn Clock>);

impl std::fmt::Debug for SharedClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SharedClock")
    }
}

/// What changes along with the rollout, or with the settings.
#[derive(Debug)]
struct Live {
    kept: Kept,
    codec: Arc<PinCodec>,
    lifetimes: Lifetimes,
    skew: Duration,
    policy: RollbackPolicy,
    within: Duration,
    streams: Duration,
    limits: BTreeMap<String, u32>,
    scopes: Vec<ScopeSetting>,
}

/// What a gateway starts from.
#[derive(Debug)]
pub struct Start {
    /// The control plane.
    pub control: Control,
    /// The codec of the pins.
    pub codec: Arc<PinCodec>,
}

/// An accepted change.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The state before.
    pub before: Arc<Rollout>,
    /// The state since; the same one if the change altered nothing.
    pub after: Arc<Rollout>,
    /// Whether it is on the disk. An abort is made even if it cannot be kept; the next change
    /// that can be kept keeps it too.
    pub is_kept: bool,
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
        let now = clock.now();
        let file = StateFile::new(settings.state.file.clone());
        let kept = match file.load()? {
            Some(kept) => kept,
            None => Kept {
                // a state made from nothing is above one that was lost
                rollout: first_rollout(settings, Revision(now.as_secs()), now)?,
                endpoints: BTreeMap::new(),
                applied: applied(&settings.groups),
                keys: BTreeMap::new(),
                cookies: CookieUse::default(),
                expiries: KeptExpiries::default(),
            },
        };
        let lost_until = now.plus(settings.pin.lifetimes.max_age());
        let expiries = kept.expiries.restore(&kept.rollout, lost_until);
        let codec = codec(settings)?;
        let live = Live {
            codec: Arc::clone(&codec),
            lifetimes: settings.pin.lifetimes,
            skew: settings.pin.clock_skew,
            policy: settings.rollback.policy,
            within: settings.rollback.within,
            streams: settings.rollback.streams,
            limits: BTreeMap::new(),
            scopes: settings.scopes.clone(),
            kept,
        };
        let control = Self(Arc::new(Plane {
            rollouts: Rollouts::fixed(live.kept.rollout.clone()),
            groups,
            expiries,
            clock: SharedClock(clock),
            file,
            live: Mutex::new(live),
        }));
        control.apply(settings)?;
        Ok(Start { control, codec })
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

    /// The clock of pins and of the rollout.
    #[must_use]
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.0.clock.0)
    }

    /// The present time as pins see it.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.0.clock.0.now()
    }

    /// When a draining group is drained at the latest; `None` if it does not drain.
    #[must_use]
    pub fn drained_by(&self, group: &GroupName) -> Option<Timestamp> {
        let live = self.live();
        self.0
            .rollouts
            .current()
            .drained_by(group, live.lifetimes.max_age(), live.skew)
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
        let mut live = self.live();
        if live.kept.expiries == expiries {
            return Ok(());
        }
        let kept = Kept {
            expiries,
            ..live.kept.clone()
        };
        self.0.file.save(&kept)?;
        live.kept = kept;
        Ok(())
    }

    /// The greatest age of a session, and the clock difference that is allowed between replicas.
    pub(super) fn bounds(&self) -> (Duration, Duration) {
        let live = self.live();
        (live.lifetimes.max_age(), live.skew)
    }

    /// Makes one change: decided on the present state, kept on the disk, then published.
    ///
    /// Blocks while the state file is written.
    ///
    /// # Errors
    ///
    /// If a rule forbids it, the state is not the one that was seen, or it cannot be kept. Then
    /// nothing has changed. An abort is made even if it cannot be kept.
    pub fn change(&self, request: &Request) -> Result<Changed, ControlError> {
        let (who, verb, what) = (&request.who, request.verb.name(), &request.verb);
        let changed = self.try_change(request);
        match &changed {
            Ok(Changed { before, after, .. }) => {
                let (before, after) = (before.revision().0, after.revision().0);
                tracing::info!(
                    target: "affinity::audit", %who, verb, ?what, before, after, "rollout changed"
                );
            }
            Err(error) => {
                let why = with_causes(error);
                tracing::warn!(target: "affinity::audit", %who, verb, ?what, why, "refused");
            }
        }
        changed
    }

    fn try_change(&self, request: &Request) -> Result<Changed, ControlError> {
        let mut live = self.live();
        let before = self.0.rollouts.current();
        let is_abort = matches!(request.verb, Verb::Abort { .. });
        let kept = live.asked(request, &before)?;
        let mut is_kept = true;
        let keep = |saved: Result<(), StoreError>| match saved {
            // a full disk must not keep a bad commit in service
            Err(error) if is_abort => {
                let error = with_causes(&error);
                tracing::error!(%error, "the abort is in force but not kept: a restart forgets it");
                is_kept = false;
                Ok(())
            }
            saved => saved,
        };
        let after = self.publish(&mut live, kept, keep, |rollout, terms| {
            let next = request.verb.apply(rollout, terms);
            next.map_err(ControlError::from)
        })?;
        Ok(Changed {
            before,
            after,
            is_kept,
        })
    }

    /// Decides a change as [`Control::change`] would, and leaves everything as it is.
    pub(super) fn decide(&self, request: &Request) -> Result<Decided, ControlError> {
        let live = self.live();
        let before = self.0.rollouts.current();
        let (now, mut kept) = (self.now(), live.asked(request, &before)?);
        let after = self.next(&live, &mut kept, &before, now, |rollout, terms| {
            Ok(request.verb.apply(rollout, terms)?)
        })?;
        Ok(Decided {
            at: now,
            before,
            after,
            lifetimes: live.lifetimes,
            streams: live.streams,
            scopes: live.scopes.clone(),
        })
    }

    /// Applies an edited configuration as one change, or nothing of it.
    ///
    /// # Errors
    ///
    /// As [`Control::change`], and if a key would leave too early.
    pub fn apply(&self, settings: &Settings) -> Result<Changed, ControlError> {
        let mut live = self.live();
        let before = self.0.rollouts.current();
        let now = self.now();
        let codec = codec(settings)?;
        let keys = rotated(&live.kept.keys, &settings.pin, now).map_err(|(id, free)| {
            let why = match free {
                Some(free) => format!("it signed until less than pin.max_age ago, free at {free}"),
                None => "it signs now; move it behind another key first".to_owned(),
            };
            ControlError::Key { id, why }
        })?;
        let mut kept = live.kept.clone();
        kept.keys = keys;
        kept.cookies =
            live.kept
                .cookies
                .with(&settings.pin.cookie, now, settings.pin.lifetimes.max_age());
        for group in &settings.groups {
            kept.endpoints
                .insert(group.name.to_string(), group.endpoints.clone());
        }
        kept.applied = applied(&settings.groups);
        let last = live.kept.applied.clone();
        let limits = settings.groups.iter();
        let limits = limits.filter_map(|g| Some((g.name.to_string(), g.max_in_flight?)));
        let mut next = Live {
            kept: live.kept.clone(),
            codec,
            lifetimes: settings.pin.lifetimes,
            skew: settings.pin.clock_skew,
            policy: settings.rollback.policy,
            within: settings.rollback.within,
            streams: settings.rollback.streams,
            limits: limits.collect(),
            scopes: settings.scopes.clone(),
        };
        let after = self.publish(
            &mut next,
            kept,
            |saved| saved,
            |rollout, terms| Ok(edited(rollout, &last, &settings.groups, terms)?),
        )?;
        *live = next;
        if after.revision() != before.revision() {
            tracing::info!(
                target: "affinity::audit",
                who = "configuration",
                verb = "edit",
                before = before.revision().0,
                after = after.revision().0,
                "rollout changed"
            );
        }
        Ok(Changed {
            before,
            after,
            is_kept: true,
        })
    }

    /// Decides the next state, keeps it, and publishes endpoints before groups, so that no group
    /// is decided for whose endpoints are not known yet.
    fn publish(
        &self,
        live: &mut Live,
        mut kept: Kept,
        kept_on_disk: impl FnOnce(Result<(), StoreError>) -> Result<(), StoreError>,
        change: impl FnOnce(&Rollout, &Terms<'_>) -> Result<Rollout, ControlError>,
    ) -> Result<Arc<Rollout>, ControlError> {
        let plane = &*self.0;
        plane.rollouts.update(|rollout| {
            let next = self.next(live, &mut kept, rollout, self.now(), change)?;
            kept.expiries = KeptExpiries::so_far(&plane.expiries);
            kept_on_disk(plane.file.save(&kept))?;
            plane.expiries.retain(&next);
            publish_endpoints(&plane.groups, &next, &kept.endpoints, &live.limits);
            live.kept = kept;
            Ok(next)
        })
    }

    /// The next state with what is kept of it, or what stands against it.
    fn next(
        &self,
        live: &Live,
        kept: &mut Kept,
        rollout: &Rollout,
        now: Timestamp,
        change: impl FnOnce(&Rollout, &Terms<'_>) -> Result<Rollout, ControlError>,
    ) -> Result<Rollout, ControlError> {
        let terms = Terms {
            change: Change {
                revision: rollout.revision().next(),
                now,
                max_age: live.lifetimes.max_age(),
            },
            groups: &self.0.groups,
            expiries: &self.0.expiries,
            skew: live.skew,
            policy: live.policy,
            within: live.within,
        };
        let next = change(rollout, &terms)?;
        live.codec
            .codes(&next)
            .map_err(|CodeCollision(group)| Refusal::Collision(group))?;
        kept.endpoints
            .retain(|name, _| next.groups().iter().any(|g| g.name().as_str() == name));
        kept.rollout = next.clone();
        if let Some((address, group)) = claimed_twice(&next, &kept.endpoints) {
            return Err(ControlError::EndpointTaken { address, group });
        }
        Ok(next)
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        // every change replaces what is in it as a whole, so it is whole after a panic too
        self.0.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    /// What is to be kept once a change is made that may be asked for now.
    fn asked(&self, request: &Request, before: &Rollout) -> Result<Kept, ControlError> {
        if let Some(expected) = request.if_match
            && expected != before.revision()
            && !matches!(request.verb, Verb::Abort { .. })
        {
            return Err(ControlError::Stale {
                expected,
                now: before.revision(),
            });
        }
        request.verb.check(self.policy)?;
        let mut kept = self.kept.clone();
        if let Verb::Register {
            group, endpoints, ..
        } = &request.verb
        {
            kept.endpoints.insert(group.to_string(), endpoints.clone());
        }
        Ok(kept)
    }
}

fn codec(settings: &Settings) -> Result<Arc<PinCodec>, ControlError> {
    let ring = settings.pin.keyring().map_err(ControlError::Keyring)?;
    Ok(Arc::new(PinCodec::new(settings.service.clone(), &ring)))
}
