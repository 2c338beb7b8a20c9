//! Changes, one after another.

use std::sync::Arc;

use tower_affinity::core::{
    Change, CodeCollision, Group, Refusal, Rollout, State, Status, Timestamp,
};

use super::error::ControlError;
use super::expiries::KeptExpiries;
use super::live::Live;
use super::plane::Control;
use super::preview::Decided;
use super::publish::{claimed_twice, publish_endpoints};
use super::store::{Kept, StoreError};
use super::terms::Terms;
use super::verb::{Request, Verb};
use crate::causes::with_causes;

/// An accepted change.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The state before.
    pub before: Arc<Rollout>,
    /// The state since; the same one if the change altered nothing.
    pub after: Arc<Rollout>,
    /// Where it is kept. Only an abort is in force even if it cannot be kept.
    pub held: Held,
}

/// Where an accepted change is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Held {
    /// Where all replicas find it, or on the disk of the only one.
    All,
    /// On this replica: the state that replicas share is out of reach, and takes it up by itself
    /// once it is back.
    Replica,
    /// Nowhere: the state file cannot be written. The next change that can be kept keeps it too.
    Nowhere,
}

impl Control {
    /// Makes one change: decided on the present state, kept, then published.
    ///
    /// Blocks while it is kept: in the state file, or in the shared state. With a shared state it
    /// must not be called where a task runs.
    ///
    /// # Errors
    ///
    /// If a rule forbids it, the state is not the one that was seen, or it cannot be kept. Then
    /// nothing has changed. An abort is made even if it cannot be kept.
    pub fn change(&self, request: &Request) -> Result<Changed, ControlError> {
        let (who, verb, what) = (&request.who, request.verb.name(), &request.verb);
        let changed = self.unless_sealed().and_then(|()| match self.member() {
            Some(member) => member.change_blocking(request),
            None => self.change_alone(request),
        });
        match &changed {
            Ok(Changed { before, after, .. }) => {
                self.tell(request, before, after);
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

    fn change_alone(&self, request: &Request) -> Result<Changed, ControlError> {
        let _saving = self.saving();
        self.unless_sealed()?;
        let mut live = self.live();
        let before = self.0.rollouts.current();
        let is_abort = matches!(request.verb, Verb::Abort { .. });
        let kept = live.asked(request, &before)?;
        let mut held = Held::All;
        let keep = |saved: Result<(), StoreError>| match saved {
            // a full disk must not keep a bad commit in service
            Err(error) if is_abort => {
                let error = with_causes(&error);
                tracing::error!(%error, "the abort is in force but not kept: a restart forgets it");
                held = Held::Nowhere;
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
            held,
        })
    }

    /// Decides a change as [`Control::change`] would, and leaves everything as it is.
    pub(super) fn decide(&self, request: &Request) -> Result<Decided, ControlError> {
        let live = self.live();
        // a change is made in the shared state, whatever this replica obeys besides it
        let before = match self.member().is_some_and(|member| member.reached().now) {
            true => Arc::new(live.kept.rollout.clone()),
            false => self.0.rollouts.current(),
        };
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

    /// Decides the next state, keeps it, and publishes endpoints before groups, so that no group
    /// is decided for whose endpoints are not known yet.
    pub(super) fn publish(
        &self,
        live: &mut Live,
        mut kept: Kept,
        kept_on_disk: impl FnOnce(Result<(), StoreError>) -> Result<(), StoreError>,
        change: impl FnOnce(&Rollout, &Terms<'_>) -> Result<Rollout, ControlError>,
    ) -> Result<Arc<Rollout>, ControlError> {
        let plane = &*self.0;
        let published = plane.rollouts.update(|rollout| {
            let next = self.next(live, &mut kept, rollout, self.now(), change)?;
            kept.expiries = KeptExpiries::so_far(&plane.expiries);
            kept_on_disk(plane.file.save(&kept))?;
            plane.expiries.retain(&next);
            publish_endpoints(&plane.groups, &next, &kept, &live.limits);
            live.kept = kept;
            Ok(next)
        });
        self.acknowledge(live);
        published
    }

    /// The next state with what is kept of it, or what stands against it.
    pub(super) fn next(
        &self,
        live: &Live,
        kept: &mut Kept,
        rollout: &Rollout,
        now: Timestamp,
        change: impl FnOnce(&Rollout, &Terms<'_>) -> Result<Rollout, ControlError>,
    ) -> Result<Rollout, ControlError> {
        let terms = Terms {
            change: self.change_of(live, rollout, now),
            groups: &self.0.groups,
            fleet: &self.fleet_of(live),
            bounds: live.bounds(),
            policy: live.policy,
            within: live.within,
        };
        let next = change(rollout, &terms)?;
        live.codec
            .codes(&next)
            .map_err(|CodeCollision(group)| Refusal::Collision(group))?;
        kept.endpoints
            .retain(|name, _| next.groups().iter().any(|g| g.name().as_str() == name));
        let endpoints = &kept.endpoints;
        kept.drains.retain(|name, _| endpoints.contains_key(name));
        kept.rollout = next.clone();
        // an abort claims no address, so what others have claimed twice must not stand against it
        let blameless =
            aborts(rollout, &next) && claimed_twice(rollout, &live.kept.endpoints).is_some();
        if let Some((address, group)) = claimed_twice(&next, &kept.endpoints)
            && !blameless
        {
            return Err(ControlError::EndpointTaken { address, group });
        }
        Ok(next)
    }

    /// A change of `rollout` now: above every revision that any replica or pin has shown.
    pub(super) fn change_of(&self, live: &Live, rollout: &Rollout, now: Timestamp) -> Change {
        let greatest = self.0.rollouts.greatest().max(rollout.revision());
        Change {
            revision: greatest.next(),
            now,
            max_age: live.lifetimes.max_age(),
        }
    }
}

/// Whether the step from `before` to `next` aborts a group.
fn aborts(before: &Rollout, next: &Rollout) -> bool {
    let serves = |id| matches!(before.status(id), Status::Serving(_));
    let aborted = |group: &&Group| matches!(group.state(), State::Aborted(_));
    let mut groups = next.groups().iter().filter(aborted);
    groups.any(|group| serves(group.id()))
}
