//! Endpoints that a source has found.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use tower_affinity::core::{GroupName, Rollout, State};

use super::live::Endpoints;
use super::plane::Control;
use super::publish::{place, publish_endpoints};
use super::sources::Sources;
use super::store::StoreError;
use crate::config::{Discovery, GroupSetting};

/// An address that was not given to a group, since another one has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) address: SocketAddr,
    pub(crate) by: GroupName,
}

impl Control {
    /// What is known of the sources of endpoints.
    pub(crate) fn sources(&self) -> &Sources {
        &self.0.sources
    }

    /// Gives `group` the endpoints that its source has found: all but those of other groups, which
    /// are answered. If none is left, what the group has stays. What stays keeps its counters and
    /// states. Nothing happens once the settings name another source.
    ///
    /// Blocks while the state file is written.
    ///
    /// # Errors
    ///
    /// If they cannot be kept over a restart; they are in force all the same.
    pub(crate) fn discovered(
        &self,
        group: &GroupName,
        source: &Discovery,
        found: &[SocketAddr],
    ) -> Result<Vec<Taken>, StoreError> {
        let _saving = self.saving();
        let (kept, taken) = {
            let mut live = self.live();
            if live.sources.get(group.as_str()) != Some(source) {
                return Ok(Vec::new());
            }
            let rollout = self.0.rollouts.current();
            let (free, taken) = free(group, found, &rollout, &live.kept.endpoints);
            if free.is_empty() {
                return Ok(taken);
            }
            live.discovered.insert(group.to_string(), free.clone());
            if live.kept.endpoints.get(group.as_str()) == Some(&free) {
                return Ok(taken);
            }
            tracing::info!(%group, %source, endpoints = free.len(), "endpoints discovered");
            live.kept.endpoints.insert(group.to_string(), free);
            publish_endpoints(&self.0.groups, &rollout, &live.kept, &live.limits);
            (live.kept.clone(), taken)
        };
        // the state file is another process' by now: that one finds endpoints for itself
        if !self.0.file.owner().is_sealed() {
            self.0.file.save(&kept)?;
        }
        Ok(taken)
    }

    /// The groups that are meant to serve and whose source has not said anything yet, where no
    /// earlier list stands in for it.
    pub(crate) fn undiscovered(&self) -> Vec<GroupName> {
        let rollout = self.0.rollouts.current();
        let serves = |name: &GroupName| {
            let state = rollout.group(name).map(|group| group.state());
            matches!(state, Some(State::Active | State::Draining { .. }))
        };
        let standings = self.0.sources.standings().into_iter();
        standings
            .filter(|(name, standing)| {
                serves(name) && !standing.has_answered() && self.0.groups.endpoints(name).is_empty()
            })
            .map(|(name, _)| name)
            .collect()
    }
}

/// What of `found` no other group has. Aborted and retired groups have left theirs to whoever comes
/// next.
fn free(
    group: &GroupName,
    found: &[SocketAddr],
    rollout: &Rollout,
    endpoints: &Endpoints,
) -> (Vec<SocketAddr>, Vec<Taken>) {
    let others = rollout.groups().iter().filter(|other| {
        let gone = matches!(other.state(), State::Aborted(_) | State::Retired { .. });
        other.name() != group && !gone
    });
    let mut held = HashMap::new();
    for other in others {
        for address in endpoints.get(other.name().as_str()).into_iter().flatten() {
            held.insert(place(*address), other.name());
        }
    }
    let (mut free, mut taken) = (Vec::new(), Vec::new());
    for address in found.iter().copied() {
        match held.get(&place(address)) {
            None => free.push(address),
            Some(by) => taken.push(Taken {
                address,
                by: (*by).clone(),
            }),
        }
    }
    (free, taken)
}

/// The sources of the groups that have one.
pub(super) fn sources_of(groups: &[GroupSetting]) -> BTreeMap<String, Discovery> {
    let sources = groups.iter();
    sources
        .filter_map(|group| Some((group.name.to_string(), group.discovery.clone()?)))
        .collect()
}
