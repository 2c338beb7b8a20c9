//! The first state: what the configuration says, or what other replicas share, where there is no
//! other yet.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use tower_affinity::core::{
    Change, GroupName, NewGroup, Revision, Rollout, RolloutError, SharedState, Timestamp, Weight,
};

use super::applied::{Applied, AppliedGroups, applied};
use super::cookies::CookieUse;
use super::drains::Drains;
use super::error::ControlError;
use super::expiries::KeptExpiries;
use super::random::{random, replica_name};
use super::store::Kept;
use crate::config::{GroupSetting, GroupState, Settings};

impl Kept {
    /// The state that the configuration says. Made from nothing, it is above one that was lost.
    pub(super) fn first(settings: &Settings, now: Timestamp) -> Result<Self, ControlError> {
        let rollout = first_rollout(settings, Revision(now.as_secs()), now)?;
        let endpoints = settings.groups.iter();
        Ok(Self {
            applied: applied(&settings.groups),
            endpoints: endpoints
                .map(|group| (group.name.to_string(), group.endpoints.clone()))
                .collect(),
            ..Self::new(rollout, AppliedGroups::new())?
        })
    }

    /// What a replica begins with that finds the state of others: nobody has seen a pin of it.
    pub(super) fn of_shared(state: SharedState) -> Result<Self, ControlError> {
        let mut kept = Self::new(state.rollout, AppliedGroups::new())?;
        kept.heard_of(state.endpoints);
        Ok(Self {
            expiries: KeptExpiries::none_yet(),
            ..kept
        })
    }

    fn new(rollout: Rollout, applied: AppliedGroups) -> Result<Self, ControlError> {
        Ok(Self {
            rollout,
            endpoints: BTreeMap::new(),
            drains: Drains::default(),
            applied,
            keys: BTreeMap::new(),
            cookies: CookieUse::default(),
            expiries: KeptExpiries::default(),
            facts: Vec::new(),
            new_groups: BTreeSet::new(),
            replica: replica_name()?,
        })
    }

    /// The document that shares `rollout` with other replicas.
    pub(super) fn shared_state(&self, rollout: Rollout) -> Result<SharedState, getrandom::Error> {
        let endpoints = self.endpoints.iter();
        Ok(SharedState {
            rollout,
            // what was kept under a name was a valid name once
            endpoints: endpoints
                .filter_map(|(group, addresses)| Some((group.parse().ok()?, addresses.clone())))
                .collect(),
            write: random()?,
        })
    }

    /// The endpoints that other replicas know.
    pub(super) fn heard_of(&mut self, endpoints: BTreeMap<GroupName, Vec<SocketAddr>>) {
        let endpoints = endpoints.into_iter();
        self.endpoints = endpoints
            .map(|(group, addresses)| (group.to_string(), addresses))
            .collect();
    }

    /// `rollout` with the groups of the configuration that it does not know yet, as staged.
    pub(super) fn with_new_groups(&self, rollout: &Rollout, change: Change) -> Option<Rollout> {
        let mut next = rollout.clone();
        for name in self.new_groups.iter() {
            // what was applied was a valid name once
            let Ok(name) = name.parse::<GroupName>() else {
                continue;
            };
            if next.group(&name).is_some() {
                continue;
            }
            let applied = self.applied.get(name.as_str());
            let with = applied.map(Applied::compatible_with).unwrap_or_default();
            let registered = next.register(&name, Weight::ZERO, change);
            match registered.and_then(|next| next.declare(&name, &with, change)) {
                Ok(registered) => next = registered,
                // under a lock it is tried again with the next change
                Err(refusal) => tracing::warn!(group = %name, %refusal, "not registered yet"),
            }
        }
        (next != *rollout).then_some(next)
    }
}

pub(crate) fn first_rollout(
    settings: &Settings,
    revision: Revision,
    now: Timestamp,
) -> Result<Rollout, RolloutError> {
    let group = |group: &GroupSetting| {
        let name = group.name.clone();
        let new = match &group.state {
            GroupState::Staged => NewGroup::staged(name),
            GroupState::Active => NewGroup::active(name, group.weight),
            GroupState::Draining => NewGroup::draining(name),
            GroupState::Aborted { to } => NewGroup::aborted(name, to.clone()),
            GroupState::Retired => NewGroup::retired(name),
        };
        let new = new.compatible_with(group.compatible_with.iter().cloned());
        if group.stable { new.stable() } else { new }
    };
    Rollout::new(revision, now, settings.groups.iter().map(group))
}
