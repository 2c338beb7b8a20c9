//! Endpoints that an operator drains: marks of this replica, and no part of the rollout.
//!
//! A mark belongs to an address of a group, whether the group has it now or not, until it is taken
//! back or the rollout forgets the group. It is kept in the state file.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use tower_affinity::balance::{Endpoint, EndpointState};
use tower_affinity::core::{GroupName, Revision, Rollout, State};

use super::error::ControlError;
use super::live::Live;
use super::plane::Control;
use super::publish::{place, publish_endpoints};
use super::store::Kept;
use crate::causes::with_causes;
use crate::events::Kind;

/// Addresses by the name of their group.
pub(super) type Drains = BTreeMap<String, BTreeSet<SocketAddr>>;

/// What an operator wants of one endpoint.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Who asks, for the audit log.
    pub who: String,
    /// The revision of the rollout that they saw.
    pub if_match: Option<Revision>,
    /// The group.
    pub group: GroupName,
    /// The endpoint.
    pub address: SocketAddr,
    /// Whether it is to be drained, or not any more.
    pub drain: bool,
    /// Skips the check that another endpoint of the group is ready.
    pub force: bool,
}

/// What became of a wish, or would.
#[derive(Clone, Debug)]
pub struct Marked {
    /// The rollout, which stays as it is.
    pub rollout: Arc<Rollout>,
    /// Whether anything changes.
    pub changed: bool,
}

impl Control {
    /// Drains an endpoint on this replica, or ends that: kept, then in force.
    ///
    /// Blocks while the state file is written.
    ///
    /// # Errors
    ///
    /// If the group has no such endpoint, no other one of it is ready, or it cannot be kept. Then
    /// nothing has changed.
    pub fn mark(&self, wish: &Wish) -> Result<Marked, ControlError> {
        let Wish {
            who,
            group,
            address,
            ..
        } = wish;
        let verb = wish.name();
        let marked = self.mark_and_keep(wish);
        match &marked {
            Ok(Marked { rollout, changed }) => {
                let revision = rollout.revision().0;
                let (before, after) = (wish.drain != *changed, wish.drain);
                tracing::info!(
                    target: "affinity::audit",
                    %who, verb, %group, %address, before, after, revision, "endpoint marked"
                );
                let text = format!("{verb} {address} by {who}");
                self.events().keep(Kind::Endpoint, Some(group), &text);
            }
            Err(error) => {
                let why = with_causes(error);
                tracing::warn!(
                    target: "affinity::audit", %who, verb, %group, %address, why, "refused"
                );
            }
        }
        marked
    }

    fn mark_and_keep(&self, wish: &Wish) -> Result<Marked, ControlError> {
        let _saving = self.saving();
        self.unless_sealed()?;
        let (rollout, kept) = {
            let live = self.live();
            let (rollout, drains) = self.wished(&live, wish)?;
            let kept = Kept {
                drains,
                ..live.kept.clone()
            };
            (rollout, kept)
        };
        let changed = kept.drains != self.live().kept.drains;
        if changed {
            self.0.file.save(&kept)?;
            let mut live = self.live();
            live.kept.drains = kept.drains;
            let rollout = self.0.rollouts.current();
            publish_endpoints(&self.0.groups, &rollout, &live.kept, &live.limits);
        }
        Ok(Marked { rollout, changed })
    }

    /// What [`Control::mark`] would do, and why it would not.
    ///
    /// # Errors
    ///
    /// As [`Control::mark`], but for what only the disk can refuse.
    pub fn preview_mark(&self, wish: &Wish) -> Result<Marked, ControlError> {
        let live = self.live();
        let (rollout, drains) = self.wished(&live, wish)?;
        let changed = drains != live.kept.drains;
        Ok(Marked { rollout, changed })
    }

    /// The addresses of `group` that an operator drains, whether it has them now or not.
    #[must_use]
    pub fn drains(&self, group: &GroupName) -> BTreeSet<SocketAddr> {
        let live = self.live();
        let drains = live.kept.drains.get(group.as_str());
        drains.cloned().unwrap_or_default()
    }

    /// The rollout now, and all marks as they are wished.
    fn wished(&self, live: &Live, wish: &Wish) -> Result<(Arc<Rollout>, Drains), ControlError> {
        let Wish { group, .. } = wish;
        let rollout = self.0.rollouts.current();
        let now = rollout.revision();
        if let Some(expected) = wish.if_match.filter(|expected| *expected != now) {
            return Err(ControlError::Stale { expected, now });
        }
        let mut drains = live.kept.drains.clone();
        let mut marks = drains.remove(group.as_str()).unwrap_or_default();
        let endpoints = self.0.groups.endpoints(group);
        // a mark is taken back by the name that it was set by
        let listed = endpoints.iter().map(|endpoint| endpoint.address());
        let mut known = listed.chain(marks.iter().copied());
        let found = known.find(|known| place(*known) == place(wish.address));
        let address = found.ok_or_else(|| ControlError::NoEndpoint {
            group: group.clone(),
            address: wish.address,
        })?;
        if !wish.drain {
            marks.remove(&address);
        } else if marks.insert(address)
            && !wish.force
            && is_last(&rollout, group, address, &endpoints)
        {
            let group = group.clone();
            return Err(ControlError::LastEndpoint { group, address });
        }
        if !marks.is_empty() {
            drains.insert(group.to_string(), marks);
        }
        Ok((rollout, drains))
    }
}

impl Wish {
    /// The verb's name, as the command line has it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.drain {
            true => "drain-endpoint",
            false => "undrain-endpoint",
        }
    }
}

/// Whether a group that sessions can be in has no other ready endpoint.
fn is_last(
    rollout: &Rollout,
    group: &GroupName,
    address: SocketAddr,
    endpoints: &[Arc<Endpoint>],
) -> bool {
    let serves = rollout.group(group).is_some_and(|group| {
        let state = group.state();
        !matches!(state, State::Aborted(_) | State::Retired { .. })
    });
    let mut others = endpoints.iter().filter(|e| e.address() != address);
    serves && !others.any(|other| other.state() <= EndpointState::Starting)
}
